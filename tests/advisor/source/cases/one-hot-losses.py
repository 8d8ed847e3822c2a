# case: smoothed
import torch
import torch.nn.functional as F
from torch import nn


def smoothed(pred, gold):
    one_hot = torch.zeros_like(pred).scatter(1, gold.view(-1, 1), 1)  # expect: one-hot-losses
    one_hot = one_hot * 0.9 + (1 - one_hot) * 0.1
    logs = F.log_softmax(pred, dim=1)
    return -(one_hot * logs).sum(dim=1).mean()


# case: in place
def in_place(pred, gold):
    table = torch.zeros(pred.shape, device=pred.device).scatter_(1, gold.unsqueeze(1), 1.0)  # expect: one-hot-losses
    return -(table * F.log_softmax(pred, 1)).sum(1).mean()


# case: by one_hot
def by_one_hot(pred, gold):
    return -(F.one_hot(gold, 10) * F.log_softmax(pred, 1)).sum(1).mean()  # expect: one-hot-losses


# case: the other way round
def turned(pred, gold):
    logs = pred.log_softmax(-1)
    return -(logs * F.one_hot(gold, 10).float()).sum(-1)  # expect: one-hot-losses


# case: a full one
def full(pred, gold, eps):
    table = torch.full_like(pred, eps).scatter_(1, gold.unsqueeze(1), 1 - eps)  # expect: one-hot-losses
    return (-table * F.log_softmax(pred, 1)).sum(1)


# case: in a module
class Loss(nn.Module):
    def forward(self, pred, gold):
        table = pred.new_zeros(pred.shape).scatter_(1, gold.unsqueeze(1), 1)  # expect: one-hot-losses
        logs = torch.log_softmax(pred, dim=1)
        return (-table * logs).mean(0).sum()


# case: class numbers
def plain(pred, gold):
    return F.cross_entropy(pred, gold)


# case: gathered
def gathered(pred, gold):
    return -F.log_softmax(pred, 1).gather(1, gold.unsqueeze(1))


# case: soft targets
def soft(pred, teacher):
    return -(teacher.softmax(1) * F.log_softmax(pred, 1)).sum(1)


# case: a table that is an input
def embedded(gold, weights):
    return F.one_hot(gold, 10).float() @ weights


# case: a mask
def masked(pred, mask):
    return (mask * F.log_softmax(pred, 1)).sum()


# case: probabilities
def probable(pred, gold):
    return (F.one_hot(gold, 10) * F.softmax(pred, 1)).sum(1)


# case: scattered values
def scattered(pred, values, index):
    table = torch.zeros_like(pred).scatter(1, 0, values)
    return (table * F.log_softmax(pred, 1)).sum(1)


# case: sums that are scattered
def summed(pred, values, index):
    table = values.scatter(1, index, 1)
    return (table * F.log_softmax(pred, 1)).sum(1)


# case: an entropy
def entropy(pred):
    logs = F.log_softmax(pred, 1)
    return -(logs.exp() * logs).sum(1)


# case: added
def added(pred, gold):
    return F.one_hot(gold, 10) + F.log_softmax(pred, 1)


# case: a factor
def scaled(pred, gold):
    return 0.1 * F.log_softmax(pred, 1).sum(1)


# case: the table of another function
def table_of(gold):
    return F.one_hot(gold, 10)


# case: nothing of a loss
def predicted(pred):
    return F.log_softmax(pred, 1).argmax(1)
