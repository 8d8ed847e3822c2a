# case: pictures
import cv2
import torch
from PIL import Image
from scipy.io.wavfile import write
from torchvision.utils import save_image

model = Model().cuda().eval()


@torch.no_grad()
def enhance(pictures):
    for path, image in pictures:
        result = model(image.cuda())
        cv2.imwrite(path, result.cpu().numpy())  # expect: serial-saves


# case: through PIL
def restore(paths):
    with torch.no_grad():
        for path in paths:
            out = model(load(path).cuda())
            Image.fromarray(out.cpu().numpy()).save(path)  # expect: serial-saves


# case: by a name
@torch.inference_mode()
def draw_all(prompts):
    for prompt in prompts:
        out = model.sample(prompt)
        picture = Image.fromarray(out)
        picture.save(prompt.path)  # expect: serial-saves


# case: sound
@torch.no_grad()
def speak(mels):
    for name, mel in mels:
        sound = model.infer(mel.cuda())
        write(name, 22050, sound.cpu().numpy())  # expect: serial-saves


# case: by torchvision
@torch.no_grad()
def sample_all(count):
    for i in range(count):
        images = model(torch.randn(64, 512, device="cuda"))
        save_image(images, f"{i}.png")  # expect: serial-saves


# case: each of a batch
@torch.no_grad()
def each(loader):
    for batch in loader:
        out = model(batch.cuda())
        for one in out:
            cv2.imwrite("x.png", one.cpu().numpy())  # expect: serial-saves


# case: in threads
@torch.no_grad()
def threaded(pictures, pool):
    for path, image in pictures:
        result = model(image.cuda())
        pool.submit(cv2.imwrite, path, result.cpu().numpy())


# case: behind the loop
@torch.no_grad()
def behind(pictures):
    for path, image in pictures:
        results.append(model(image.cuda()))
    cv2.imwrite("all.png", torch.cat(results).cpu().numpy())


# case: now and then
@torch.no_grad()
def sometimes(pictures):
    for i, image in enumerate(pictures):
        result = model(image.cuda())
        if i % 100 == 0:
            cv2.imwrite("x.png", result.cpu().numpy())


# case: a picture of each epoch
@torch.no_grad()
def epochs(count):
    for epoch in range(count):
        train(epoch)
        save_image(model(noise), f"{epoch}.png")


# case: no model
def copies(paths):
    for path in paths:
        cv2.imwrite(path, cv2.imread(path))


# case: with gradients
def trained(loader):
    for batch in loader:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        cv2.imwrite("x.png", batch.numpy())


# case: weights
@torch.no_grad()
def weights(parts):
    for part in parts:
        model(part)
        torch.save(part, "x.pt")


# case: one
@torch.no_grad()
def one(image):
    cv2.imwrite("x.png", model(image.cuda()).cpu().numpy())


# case: three of them
@torch.no_grad()
def three(image):
    for scale in (1, 2, 3):
        cv2.imwrite("x.png", model(image.cuda()).cpu().numpy())


# case: a text
@torch.no_grad()
def text(file, batches):
    for batch in batches:
        file.write(str(model(batch.cuda()).shape))


# case: settings
@torch.no_grad()
def settings(config, batches):
    for batch in batches:
        model(batch.cuda())
        config.save("x.json")


# case: figures of results
def figures(results):
    for result in results:
        plt.savefig(result.name)
