# case: summed
import torch

total = 0
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss  # expect: kept-graphs
# case: collected
collected = []
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    collected.append(loss)  # expect: kept-graphs
# case: times the size
weighted = 0
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    weighted += loss * len(x)  # expect: kept-graphs
# case: detached
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.detach()
# case: read
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    collected.append(loss.item())
# case: its data
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.data
# case: without a graph
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        total += loss
# case: the sum goes backward
for x, y in loader:
    whole = 0
    for part in x:
        first = criterion(model(part), y)
        whole += first
    whole.backward()
    optimizer.step()


# case: a number made of it first
def number():
    for x, y in loader:
        cost = criterion(model(x), y)
        cost.backward()
        optimizer.step()
        cost = cost.item()
        total += cost


# case: in an attribute
class Trainer:
    def fit(self):
        for x, y in self.loader:
            loss_now = self.criterion(self.model(x), y)
            loss_now.backward()
            self.optimizer.step()
            self.total += loss_now  # expect: kept-graphs


# case: the list goes backward
def together():
    for x, y in loader:
        parts = []
        for part in x:
            parts.append(model(part))
        joined = sum(parts)
        joined.backward()
        optimizer.step()


# case: no training
def evaluate():
    for x, y in loader:
        err = criterion(model(x), y)
        total += err


# case: a scaler
def scaled():
    sums = 0
    for x, y in loader:
        value = criterion(model(x), y)
        scaler.scale(value).backward()
        scaler.step(optimizer)
        sums += value  # expect: kept-graphs


# case: Accelerate
def accelerated():
    history = []
    for x, y in loader:
        output = model(x, y)
        accelerator.backward(output)
        optimizer.step()
        history.append(output)  # expect: kept-graphs


# case: another value
def other():
    for x, y in loader:
        target = criterion(model(x), y)
        target.backward()
        optimizer.step()
        seen.append(len(x))


# case: a list of each round
def each_round():
    for x, y in loader:
        goal = criterion(model(x), y)
        goal.backward()
        optimizer.step()
        now = []
        now.append(goal)


# case: a count
def count():
    steps = 0
    for x, y in loader:
        objective = criterion(model(x), y)
        objective.backward()
        optimizer.step()
        steps += 1


# case: as a float
def as_float():
    for x, y in loader:
        energy = criterion(model(x), y)
        energy.backward()
        optimizer.step()
        total += float(energy)
