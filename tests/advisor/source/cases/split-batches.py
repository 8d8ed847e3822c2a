# case: real and generated
import torch


class Discriminators(torch.nn.Module):
    def forward(self, y, y_hat):
        for i, d in enumerate(self.discriminators):
            real, maps = d(y)
            fake, others = d(y_hat)  # expect: split-batches
        return real, fake


# case: two views
class Views(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(512, 512)

    def forward(self, image_one, image_two):
        a = self.encoder(image_one)
        b = self.encoder(image_two)  # expect: split-batches
        return a, b


# case: numbered
class Numbered(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = torch.nn.Linear(512, 512)

    def forward(self, x1, x2):
        f1 = self.backbone(x1)
        f2 = self.backbone(x2)  # expect: split-batches
        return (f1 - f2).abs()


# case: left and right
class Stereo(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Conv2d(3, 64, 3)

    def forward(self, image_left, image_right):
        left = self.features(image_left)
        right = self.features(image_right)  # expect: split-batches
        return left, right


# case: a step of training
model = torch.nn.Linear(512, 512).cuda()
for batch in loader:
    view_1, view_2 = batch
    z_1 = model(view_1)
    z_2 = model(view_2)  # expect: split-batches
    loss = (z_1 - z_2).square().mean()
    loss.backward()
    optimizer.step()


# case: positive and negative
def train(model, loader):
    for batch in loader:
        x_pos, x_neg = batch
        p = model(x_pos)
        n = model(x_neg)  # expect: split-batches
        loss = (n - p).mean()
        loss.backward()
        optimizer.step()


# case: together
class Together(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(512, 512)

    def forward(self, image_one, image_two):
        return self.encoder(torch.cat([image_one, image_two])).chunk(2)


# case: one after the other
class Chain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(512, 512)

    def forward(self, x):
        y = self.layer(x)
        z = self.layer(y)
        return z


# case: two networks
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left = torch.nn.Linear(512, 512)
        self.right = torch.nn.Linear(512, 512)

    def forward(self, x_1, x_2):
        a = self.left(x_1)
        b = self.right(x_2)
        return a + b


# case: inputs of other kinds
class Other(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(512)

    def forward(self, words, image):
        a = self.norm(words)
        b = self.norm(image)
        return a, b


# case: the same input
class Same(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, x):
        a = self.dropout(x)
        b = self.dropout(x)
        return a, b


# case: a function
class Plain(torch.nn.Module):
    def forward(self, x1, x2):
        a = torch.relu(x1)
        b = torch.relu(x2)
        return a, b


# case: with a condition between
class Conditional(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(512, 512)

    def forward(self, x1, x2):
        a = self.encoder(x1)
        if x2 is not None:
            a = a + self.encoder(x2)
        return a


# case: with options
class Optional(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(512, 512)

    def forward(self, x1, x2):
        a = self.encoder(x1, mask=None)
        b = self.encoder(x2, mask=None)
        return a, b


# case: what sets up
class Setup(torch.nn.Module):
    def setup(self, x1, x2):
        a = self.encoder(x1)
        b = self.encoder(x2)
        return a, b


# case: outside a step
a = model(x1)
b = model(x2)
# case: in an evaluation of two
with torch.no_grad():
    a = model(x1)
    b = model(x2)
# case: a step of one input
for batch in loader:
    z = model(batch)
    loss = z.square().mean()
    loss.backward()
    optimizer.step()
