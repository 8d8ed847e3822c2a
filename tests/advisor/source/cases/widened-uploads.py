# case: frames of a camera
import numpy as np
import torch


def step(frames, device):
    return model(torch.from_numpy(frames).float().to(device))  # expect: widened-uploads


# case: a loop of steps
def play(env, device):
    image = env.reset()
    for t in range(1000):
        action = model(torch.FloatTensor(image).unsqueeze(0).to("cuda"))  # expect: widened-uploads
        image = env.step(action)


# case: a type
def predict_next(images, device):
    return model(torch.tensor(images, dtype=torch.float32).to("cuda"))  # expect: widened-uploads


# case: batches of a loader
def epoch(loader):
    with torch.no_grad():
        for images, _ in loader:
            model(images.float().cuda())  # expect: widened-uploads


# case: an array of frames
def act(frames):
    return model(torch.from_numpy(np.stack(frames)).float().cuda())  # expect: widened-uploads


# case: in a step of training
def train(loader):
    for images, labels in loader:
        loss = criterion(model(images.permute(0, 3, 1, 2).float().to("cuda")), labels.cuda())  # expect: widened-uploads
        loss.backward()
        optimizer.step()


# case: converted on the GPU
def narrow(frames, device):
    return model(torch.from_numpy(frames).to(device).float())


# case: labels
def labelled(labels):
    return torch.from_numpy(labels).float().to("cuda")


# case: rewards
def rewarded(rewards):
    return torch.FloatTensor(rewards).to("cuda")


# case: on the GPU already
def there(frames):
    x = torch.from_numpy(frames).cuda()
    return x.float().cuda()


# case: once, in a program
def main(frames):
    return torch.from_numpy(frames).float().to("cuda")


# case: to the host
def back(frames):
    return torch.from_numpy(frames).float().to("cpu")


# case: halves
def halves(frames):
    return torch.from_numpy(frames).half().to("cuda")


# case: integers
def integers(frames):
    return torch.from_numpy(frames).long().to("cuda")


# case: of the model
def of_model(images):
    return model(images).float().cuda()


# case: made
def made(n):
    return torch.zeros(n).float().to("cuda")


# case: a model
def whole():
    return model.float().to("cuda")


# case: numbers of a file
def numbers(path):
    return torch.from_numpy(np.load(path)).float().to("cuda")
# ---
# case: made on the GPU of what the host widens
import torch


def learn(memory, device):
    frames = memory.sample()
    return torch.tensor(frames, device="cuda", dtype=torch.float32).div_(255)  # expect: widened-uploads


def learn_of_bytes(memory, device):
    frames = memory.sample()
    return torch.tensor(frames, device="cuda").float().div_(255)
# ---
# case: arrays of doubles
import numpy as np
import torch


class Replay:
    def __init__(self, size, dim):
        self.states = np.zeros((size, dim))
        self.rewards = np.zeros((size, 1))

    def sample(self, indices):
        states = torch.FloatTensor(self.states[indices])  # expect: widened-uploads
        rewards = torch.FloatTensor(self.rewards[indices])
        return states.to("cuda"), rewards.to("cuda")


# case: arrays of floats
class Narrow:
    def __init__(self, size, dim):
        self.states = np.zeros((size, dim), dtype=np.float32)
        self.rows = np.zeros((size, dim), np.float32)

    def sample(self, indices):
        return torch.FloatTensor(self.states[indices]).to("cuda"), torch.FloatTensor(self.rows[indices])
