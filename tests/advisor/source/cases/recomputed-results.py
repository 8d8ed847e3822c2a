# case: a product twice
import cupy
import torch

for i in range(99):
    a = cupy.inner(r, r) / cupy.inner(p, cupy.dot(A, p))
    r = r - a * cupy.dot(A, p)  # expect: recomputed-results
# case: of PyTorch
while error > 1e-6:
    a = torch.matmul(w, x).sum()
    b = torch.matmul(w, x).max()  # expect: recomputed-results
# case: of whatever module
for i in range(99):
    a = xp.dot(A, p).sum()
    b = xp.dot(A, p) * a  # expect: recomputed-results
# case: in one line
for i in range(99):
    a = torch.mm(w, x).sum() / torch.mm(w, x).max()  # expect: recomputed-results


# case: a text that is always the same
def draw(model, prompts, n):
    model = model.cuda()
    with torch.no_grad():
        for prompt in prompts:
            empty = model.embed(n * [""])  # expect: recomputed-results
            shown = model.sample(empty, prompt)


# case: a run of the model
@torch.no_grad()
def compare(model, reference, images):
    for image in images:
        wanted = model(reference)  # expect: recomputed-results
        difference += (model(image) - wanted).abs().mean()


# case: operands that change between
for i in range(99):
    a = cupy.dot(A, p)
    p = p + a
    b = cupy.dot(A, p)
# case: other operands
for i in range(99):
    a = cupy.dot(A, p)
    b = cupy.dot(A, r)
# case: once
for i in range(99):
    a = cupy.dot(A, p)
    r = r - a
# case: of the host
import numpy

for i in range(99):
    a = numpy.dot(A, p).sum()
    b = numpy.dot(A, p).max()
# case: no product
for i in range(99):
    a = torch.zeros(9)
    b = torch.zeros(9)
# case: outside a loop
a = torch.matmul(w, x).sum()
b = torch.matmul(w, x).max()
# case: in branches
for i in range(99):
    if i % 2:
        a = torch.matmul(w, x)
    else:
        a = torch.matmul(w, x)


# case: in front of the loop
@torch.no_grad()
def compare_once(model, reference, images):
    wanted = model(reference)
    for image in images:
        difference += (model(image) - wanted).abs().mean()


# case: an input of the round
@torch.no_grad()
def run(model, images):
    for image in images:
        result = model(image)


# case: training
def train(model, image):
    for step in range(999):
        loss = model(image)
        loss.backward()
        optimizer.step()


# case: random samples
@torch.no_grad()
def draws(model, start):
    for i in range(99):
        shown = model.sample(start)


# case: an input that the round changes
@torch.no_grad()
def iterate(model, x):
    for i in range(99):
        y = model(x)
        x = x + y


# case: no model
@torch.no_grad()
def words(names, table):
    for name in names:
        size = table.width(8)


# case: a measurement
@torch.no_grad()
def frames_per_second(model, images):
    start = time.time()
    for i in range(99):
        y = model(images)
    return 99 / (time.time() - start)
