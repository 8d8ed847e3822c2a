# case: parameters that are given
import torch as th


def polyak_update(params, target_params, tau):
    with th.no_grad():
        for param, target in zip(params, target_params, strict=True):  # expect: per-parameter-updates
            target.data.mul_(1 - tau)
            th.add(target.data, param.data, alpha=tau, out=target.data)


# case: parameters of a search
def grid(params, run):
    for param in params:
        run(param)
