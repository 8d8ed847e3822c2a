# case: weights and state of an optimiser
from functools import partial

import jax
import optax


@jax.jit  # expect: undonated-buffers
def step(params, opt_state, batch):
    gradients = jax.grad(loss)(params, batch)
    updates, opt_state = optimizer.update(gradients, opt_state)
    params = optax.apply_updates(params, updates)
    return params, opt_state


# case: with options
@partial(jax.jit, static_argnames=("train",))  # expect: undonated-buffers
def step_with(state, batch, train):
    grads = jax.grad(loss)(state.params, batch)
    new_state = state.apply_gradients(grads=grads)
    return new_state, {}


# case: one of two
def make_step():
    def update_fn(params, opt_state, batch):
        grads = jax.value_and_grad(loss)(params, batch)[1]
        updates, opt_state = optimizer.update(grads, opt_state)
        params = optax.apply_updates(params, updates)
        return params, opt_state

    return jax.pmap(update_fn, axis_name="batch", donate_argnums=(0,))  # expect: undonated-buffers


# case: models of an agent
@partial(jax.jit, static_argnames="update_target")  # expect: undonated-buffers
def _update_jit(rng, actor, critic, batch, update_target):
    new_critic, info = update_critic(rng, actor, critic, batch)
    new_actor, _ = update_actor(rng, actor, new_critic, batch)
    return rng, new_actor, new_critic, info


# case: a method
class Trainer:
    def __init__(self):
        self.step = jax.jit(self._train_step)  # expect: undonated-buffers

    def _train_step(self, train_state, batch):
        grads = jax.grad(loss)(train_state.params, batch)
        train_state = train_state.apply_gradients(grads=grads)
        return train_state


# case: by its place
@partial(jax.pmap, axis_name="i")  # expect: undonated-buffers
def spread(state, batch):
    state = state.apply_gradients(grads=jax.grad(loss)(state.params, batch))
    return state


# case: donated
@partial(jax.jit, donate_argnums=(0, 1))
def donated(params, opt_state, batch):
    updates, opt_state = optimizer.update(jax.grad(loss)(params, batch), opt_state)
    params = optax.apply_updates(params, updates)
    return params, opt_state


# case: donated by name
@partial(jax.jit, donate_argnames=("state",))
def donated_by_name(state, batch):
    state = state.apply_gradients(grads=jax.grad(loss)(state.params, batch))
    return state


# case: what is donated stands elsewhere
@partial(jax.jit, donate_argnums=DONATED)
def donated_elsewhere(state, batch):
    state = state.apply_gradients(grads=jax.grad(loss)(state.params, batch))
    return state


# case: options from elsewhere
@partial(jax.jit, **options)
def with_options(state, batch):
    state = state.apply_gradients(grads=jax.grad(loss)(state.params, batch))
    return state


# case: an evaluation
@jax.jit
def evaluate(params, batch):
    return model.apply(params, batch)


# case: what is given back as it was
@jax.jit
def looked_at(params, batch):
    grads = jax.grad(loss)(params, batch)
    return params, grads


# case: not compiled
def plain(state, batch):
    state = state.apply_gradients(grads=jax.grad(loss)(state.params, batch))
    return state


# case: a key
@jax.jit
def drawn(rng, params, batch):
    rng, _ = jax.random.split(rng)
    return rng, jax.grad(loss)(params, batch)


# case: a metric
@jax.jit
def measured(params, metrics, batch):
    metrics = model.apply(params, batch)
    return metrics


# case: gradients alone
@jax.jit
def gradients_of(params, batch):
    return jax.grad(loss)(params, batch)


# case: another compiler
@numba.jit
def compiled(state, batch):
    state = state.apply_gradients(grads=batch)
    return state


# case: a function of another file
compiled_elsewhere = jax.jit(steps.train_step)
# ---
# case: without JAX
import torch


@torch.jit.script
def scripted(state, update):
    state = state.update(update)
    return state
