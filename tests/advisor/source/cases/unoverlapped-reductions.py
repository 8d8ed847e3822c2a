# case: each gradient
import torch
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad.data, op=dist.ReduceOp.SUM)  # expect: unoverlapped-reductions


# case: end to end
def flattened(model):
    grads = [p.grad.data for p in model.parameters()]
    coalesced = _flatten_dense_tensors(grads)
    dist.all_reduce(coalesced)  # expect: unoverlapped-reductions
    return coalesced


# case: joined
def joined(model):
    all_grads = torch.cat([p.grad.view(-1) for p in model.parameters()])
    dist.all_reduce(all_grads)  # expect: unoverlapped-reductions


# case: by name
def named(model):
    for p in model.parameters():
        grad = p.grad
        torch.distributed.all_reduce(grad)  # expect: unoverlapped-reductions


# case: in the step
for batch in loader:
    loss = model(batch).mean()
    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)  # expect: unoverlapped-reductions
    optimizer.step()


# case: with another library
def horovod(hvd, p):
    hvd.allreduce(p.grad)  # expect: unoverlapped-reductions


# case: waited for later
def later(model):
    return [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]


# case: a loss
def reduced(loss):
    dist.all_reduce(loss)
    return loss / dist.get_world_size()


# case: counts
def counts(right, total):
    both = torch.cat([right, total])
    dist.all_reduce(both)


# case: weights at the start
def start(model):
    for p in model.parameters():
        dist.broadcast(p.data, 0)


# case: statistics
def statistics(mean):
    dist.all_reduce(mean)


# case: a library does it
def wrapped(model, batch):
    model = torch.nn.parallel.DistributedDataParallel(model)
    model(batch).mean().backward()


# case: a mean of values
def mean(value):
    tensor = torch.tensor(value)
    dist.all_reduce(tensor)
    return tensor


# case: clipped
def clipped(model):
    return torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], 1)


# case: a norm of gradients
def norm(grads_norm):
    dist.all_reduce(grads_norm)


# case: scattered
def scattered(p):
    dist.reduce_scatter_tensor(p.shard, p.grad)


# case: gathered
def gathered(p):
    dist.all_gather(p.parts, p.data)


# case: the center
def center(batch):
    total = batch.sum(0)
    dist.all_reduce(total)


# case: buffers
def buffers(model):
    for b in model.buffers():
        dist.all_reduce(b)


# case: waited for at once
def gather(parts, features):
    work = torch.distributed.all_gather(parts, features, async_op=True)  # expect: unoverlapped-reductions
    work.wait()
    return torch.cat(parts)


# case: waited for behind other work
def gather_later(parts, features, model):
    work = torch.distributed.all_gather(parts, features, async_op=True)
    guess = model(features)
    work.wait()
    return torch.cat(parts), guess
