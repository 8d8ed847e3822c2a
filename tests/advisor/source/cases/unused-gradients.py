# case: an actor through its critic
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()  # expect: unused-gradients
        self.actor_opt.step()


# ---
# case: through a method of the critic, by names
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        action = self.actor(s)
        q1 = self.critic.first(s, action)
        actor_loss = -q1.mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()  # expect: unused-gradients
        self.actor_opt.step()


# ---
# case: each in a method of its own
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update_critic(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

    def update_actor(self, s):
        dist = self.actor(s)
        q1, q2 = self.critic(s, dist.rsample())
        actor_loss = -torch.min(q1, q2).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()  # expect: unused-gradients
        self.actor_opt.step()


# ---
# case: a generator through its discriminator
import torch

net_g, net_d = Generator().cuda(), Discriminator().cuda()
opt_g = torch.optim.Adam(net_g.parameters(), lr=1e-4)
opt_d = torch.optim.Adam(net_d.parameters(), lr=1e-4)

for real in loader:
    fake = net_g(noise(len(real)))
    loss_d = hinge(net_d(real.cuda(non_blocking=True)), net_d(fake.detach()))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = -net_d(fake).mean()
    opt_g.zero_grad()
    loss_g.backward()  # expect: unused-gradients
    opt_g.step()


# ---
# case: with a scaler
import torch

net_g, net_d = Generator().cuda(), Discriminator().cuda()
opt_g = torch.optim.Adam(net_g.parameters(), lr=1e-4)
opt_d = torch.optim.Adam(net_d.parameters(), lr=1e-4)

for real in loader:
    fake = net_g(noise(len(real)))
    loss_d = hinge(net_d(real.cuda(non_blocking=True)), net_d(fake.detach()))
    opt_d.zero_grad()
    scaler.scale(loss_d).backward()
    scaler.step(opt_d)
    loss_g = -net_d(fake).mean()
    opt_g.zero_grad()
    scaler.scale(loss_g).backward()  # expect: unused-gradients
    scaler.step(opt_g)


# ---
# case: a generator every fifth step, all cleared by a method
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def clear(self):
        self.actor_opt.zero_grad()
        self.critic_opt.zero_grad()

    def update(self, s, a, q, step):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        if step % 5 == 0:
            loss = -self.critic(s, self.actor(s)).mean()
            self.clear()
            loss.backward()  # expect: unused-gradients
            self.actor_opt.step()


# ---
# case: several losses in a sum
import torch

net_g, net_d = Generator().cuda(), Discriminator().cuda()
opt_g = torch.optim.Adam(net_g.parameters(), lr=1e-4)
opt_d = torch.optim.Adam(net_d.parameters(), lr=1e-4)

for real in loader:
    fake = net_g(noise(len(real)))
    loss_d = hinge(net_d(real.cuda(non_blocking=True)), net_d(fake.detach()))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    scores = net_d(fake)
    adversarial = -scores.mean()
    loss_g = 10 * l1(fake, real) + adversarial
    opt_g.zero_grad()
    loss_g.backward()  # expect: unused-gradients
    opt_g.step()


# ---
# case: the critic is frozen meanwhile
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        self.critic.requires_grad_(False)
        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        self.critic.requires_grad_(True)


# ---
# case: parameters are frozen one by one
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        for p in self.critic.parameters():
            p.requires_grad = False
        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()


# ---
# case: a helper freezes
import torch

net_g, net_d = Generator().cuda(), Discriminator().cuda()
opt_g = torch.optim.Adam(net_g.parameters(), lr=1e-4)
opt_d = torch.optim.Adam(net_d.parameters(), lr=1e-4)

for real in loader:
    fake = net_g(noise(len(real)))
    loss_d = hinge(net_d(real.cuda(non_blocking=True)), net_d(fake.detach()))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    set_requires_grad(net_d, False)
    loss_g = -net_d(fake).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()


# ---
# case: only what is trained gets gradients
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward(inputs=list(self.actor.parameters()))
        self.actor_opt.step()


# ---
# case: one optimiser for both
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.opt = torch.optim.Adam(
            [*self.actor.parameters(), *self.critic.parameters()]
        )

    def update(self, s, a, q):
        actor_loss = (self.critic(s, self.actor(s)) - q).pow(2).mean()
        self.opt.zero_grad()
        actor_loss.backward()
        self.opt.step()


# ---
# case: both step behind both losses
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        self.actor_opt.zero_grad()
        self.critic_opt.zero_grad()
        (-self.critic(s, self.actor(s)).mean()).backward()
        (self.critic(s, a) - q).pow(2).mean().backward()
        self.actor_opt.step()
        self.critic_opt.step()


# ---
# case: what comes out of the critic is detached
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = (
            (self.actor(s) - self.critic(s, self.actor(s)).detach()).pow(2).mean()
        )
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()


# ---
# case: advantages of a critic weigh the actor's loss
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        with torch.no_grad():
            advantage = self.critic(s, self.actor(s))
        actor_loss = -(self.actor(s) * advantage).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()


# ---
# case: the critic gets what the actor did not compute
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = -(self.actor(s) * self.critic(s, a)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()


# ---
# case: the loss of the discriminator alone
import torch

net_g, net_d = Generator().cuda(), Discriminator().cuda()
opt_g = torch.optim.Adam(net_g.parameters(), lr=1e-4)
opt_d = torch.optim.Adam(net_d.parameters(), lr=1e-4)

for real in loader:
    fake = net_g(noise(len(real)))
    loss_d = hinge(net_d(real.cuda(non_blocking=True)), net_d(fake.detach()))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    l1(net_g(noise(4)), real).backward()
    opt_g.step()


# ---
# case: an encoder that both train
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())
        self.encoder = Encoder().to(device)
        self.encoder_opt = torch.optim.Adam(self.encoder.parameters())

    def update(self, s, a, q):
        self.encoder_opt.zero_grad()
        self.critic_opt.zero_grad()
        loss = (self.critic(self.encoder(s), a) - q).pow(2).mean()
        loss.backward()
        self.critic_opt.step()
        self.encoder_opt.step()
        self.actor_opt.zero_grad()
        other = -self.actor(self.encoder(s).detach()).mean()
        other.backward()
        self.actor_opt.step()


# ---
# case: a target network that no optimiser has
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = -self.target(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()


# ---
# case: gradients of two losses add up until the critic steps
import torch

device = torch.device("cuda")


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        (self.critic(s, a) - q).pow(2).mean().backward()
        self.critic_opt.step()
        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()


# ---
# case: on the host
import torch

device = "cpu"


class Agent:
    def __init__(self):
        self.actor = Actor().to(device)
        self.critic = Critic().to(device)
        self.actor_opt = torch.optim.Adam(self.actor.parameters())
        self.critic_opt = torch.optim.Adam(self.critic.parameters())

    def update(self, s, a, q):
        critic_loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()


# ---
# case: optimisers that stand in their networks
import torch


class Agent:
    def train(self, s, a, q):
        loss = (self.critic(s, a) - q).pow(2).mean()
        self.critic.optimizer.zero_grad()
        loss.backward()
        self.critic.optimizer.step()
        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor.optimizer.zero_grad()
        actor_loss.backward()  # expect: unused-gradients
        self.actor.optimizer.step()
