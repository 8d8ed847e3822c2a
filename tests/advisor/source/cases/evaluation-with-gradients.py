# case: a function that evaluates
import torch


def evaluate(model, loader):
    model.eval()
    for x, y in loader:
        guess = model(x.cuda())  # expect: evaluation-with-gradients


# case: in inference mode
def in_inference_mode(model, loader):
    model.eval()
    with torch.inference_mode():
        for x, y in loader:
            guess = model(x.cuda())


# case: a decorator
@torch.no_grad()
def decorated(model, loader):
    model.eval()
    for x, y in loader:
        guess = model(x.cuda())


# case: inside the loop
def inside(model, loader):
    model.eval()
    for x, y in loader:
        with torch.no_grad():
            guess = model(x.cuda())


# case: its caller switches graphs off
def validate_batches(model, loader):
    model.eval()
    for x, y in loader:
        guess = model(x.cuda())


def validate_quietly(model, loader):
    with torch.no_grad():
        validate_batches(model, loader)


# case: by its name
def test(net, test_loader, device):
    for x, y in test_loader:
        guess = net(x.to(device))  # expect: evaluation-with-gradients


# case: a method
class Trainer:
    def validate(self):
        self.model.eval()
        for x, y in self.val_loader:
            guess = self.model(x.to(self.device))  # expect: evaluation-with-gradients

    # case: a decorated method
    @torch.inference_mode()
    def predict(self):
        for x, y in self.val_loader:
            guess = self.model(x.to(self.device))

    # case: a method that trains
    def fit(self):
        for x, y in self.train_loader:
            loss = self.model(x.to(self.device)).mean()
            loss.backward()
            self.optimizer.step()


# case: tokens, one after the other
def generate(model, tokens, count):
    for _ in range(count):
        logits = model(tokens.cuda())  # expect: evaluation-with-gradients
        tokens = torch.cat([tokens, logits.argmax(-1)])


# case: tokens without graphs
@torch.no_grad()
def generate_quietly(model, tokens, count):
    for _ in range(count):
        logits = model(tokens.cuda())
        tokens = torch.cat([tokens, logits.argmax(-1)])


# case: an attack needs gradients
def test_attack(model, loader):
    model.eval()
    for x, y in loader:
        x = x.cuda().requires_grad_()
        model(x).sum().backward()


# case: nothing says that it evaluates
def step_through(model, loader):
    for x, y in loader:
        guess = model(x.cuda())


# case: in the mode that trains again
def back_to_training(model, loader):
    model.eval()
    model.train()
    for x, y in loader:
        guess = model(x.cuda())


# case: no model
def evaluate_numbers(loader):
    for x, y in loader:
        x = x.cuda()
        print(x.mean())


# case: data moved by a name
def infer(network, dataloader, device):
    network = network.to(device)
    network.eval()
    for batch in dataloader:
        batch = batch.to(device)
        out = network(batch)  # expect: evaluation-with-gradients


# case: a loss is no model
def evaluate_loss(criterion, loader):
    for x, y in loader:
        x = x.cuda()
        print(criterion(x, y))


# case: features
def extract(encoder, loader):
    encoder.cuda().eval()
    for x in loader:
        features = encoder(x.cuda())  # expect: evaluation-with-gradients


# case: caller of the caller
def evaluate_all(model, loaders):
    for loader in loaders:
        evaluate_one(model, loader)


def evaluate_one(model, loader):
    model.eval()
    for x in loader:
        y = model(x.cuda())


with torch.no_grad():
    evaluate_all(1, 2)


# case: one batch, no loop
def evaluate_batch(model, loader):
    model.eval()
    return model(next(iter(loader)).cuda())  # expect: evaluation-with-gradients


# case: one batch behind a step of training
def step_and_look(model, x):
    model.train()
    loss = model(x.cuda()).mean()
    loss.backward()
    model.eval()
    guess = model(x.cuda())  # expect: evaluation-with-gradients
    return guess.argmax(1)


# case: one batch without a graph
def evaluate_batch_well(model, x):
    model.eval()
    with torch.no_grad():
        return model(x.cuda())


# case: gradients of the input are meant
def saliency(model, x):
    model.eval()
    score = model(x.cuda().requires_grad_())
    return torch.autograd.grad(score.sum(), x)


# case: it trains on
def look_and_train(model, x):
    model.eval()
    guess = model(x.cuda())
    model.train()
    return guess


# case: another model
def features(model, head, x):
    model.eval()
    return head(x.cuda())
# case: eval() that is assigned
def watch(model, batch):
    model = model.eval()
    guess = model(batch.cuda())  # expect: evaluation-with-gradients
    return guess.argmax(1)


# ---
# case: one batch of evaluation beside one step of training
import torch


class Trainer:
    def __init__(self, model, device):
        self.model = model.to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def train(self, x, y):
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def eval(self, x, y):
        self.model.eval()
        guess = self.model(x)  # expect: evaluation-with-gradients
        return self.loss(guess, y)


# ---
# case: results that leave the graph
import torch


class Agent:
    def __init__(self, device):
        self.actor = Actor().to(device)

    def act(self, state):
        return self.actor(state).cpu().data.numpy()  # expect: evaluation-with-gradients

    def act_without(self, state):
        with torch.no_grad():
            return self.actor(state).detach().cpu().numpy()

    def score(self, state):
        return self.actor(state).sum()


G, D = Generator().cuda(), Discriminator().cuda()
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
def fit(loader):
    for real in loader:
        fake = G(noise(real))  # expect: evaluation-with-gradients
        loss = hinge(D(real), D(fake.detach()))
        opt_d.zero_grad()
        loss.backward()
        opt_d.step()


# ---
# case: a result that is detached in one place and goes backward in another
import torch

G, D = Generator().cuda(), Discriminator().cuda()
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
def fit(loader):
    for real in loader:
        fake = G(noise(real))
        loss = hinge(D(real), D(fake.detach()))
        loss.backward()
        opt_d.step()
        (-D(fake).mean()).backward()
        opt_g.step()


def fit_sometimes(loader):
    for step, real in enumerate(loader):
        fake = G(noise(real))
        loss = hinge(D(real), D(fake.detach()))
        loss.backward()
        opt_d.step()
        if step % 2:
            fake = G(noise(real, 1))
        (-D(fake).mean()).backward()
        opt_g.step()


# ---
# case: networks that are frozen
import torch


class Distilled:
    def __init__(self, teacher, backbone, student):
        self.teacher = teacher.cuda().requires_grad_(False)
        self.backbone = backbone.cuda()
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.teacher.requires_grad_(False)
        self.student = student.cuda()

    def targets(self, x):
        return self.teacher(x).detach(), self.backbone(x).detach()

    def own_targets(self, x):
        return self.student(x).detach()  # expect: evaluation-with-gradients
