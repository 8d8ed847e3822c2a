# case: a spectrogram
import librosa
import torch
import torchaudio


class Speech(torch.utils.data.Dataset):
    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.stft.mel_spectrogram(load(self.paths[index]))  # expect: host-side-features


# case: in a method
class Mels:
    def __len__(self):
        return len(self.paths)

    def get_mel(self, path):
        sound = load(path)
        return self.transform.melspectrogram(sound)

    def __getitem__(self, index):
        return self.get_mel(self.paths[index])  # expect: host-side-features


# case: a function
class Vocoder:
    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        sound = load(self.paths[index])
        mel = mel_spectrogram(sound, self.n_fft)  # expect: host-side-features
        return mel, sound


# case: short Fourier transforms
class Shorts:
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return torch.stft(self.sounds[index], 512)  # expect: host-side-features


# case: another rate
class Rates:
    def __len__(self):
        return 9

    def __getitem__(self, index):
        sound, rate = torchaudio.load(self.paths[index])
        return torchaudio.functional.resample(sound, rate, 16000)  # expect: host-side-features


# case: coefficients
class Coefficients:
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return librosa.feature.mfcc(y=self.sounds[index])  # expect: host-side-features


# case: stored
class Stored:
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return torch.load(self.paths[index])


# case: by the model
class Model(torch.nn.Module):
    def forward(self, sound):
        return torch.stft(sound, 512)


# case: pictures
class Pictures:
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return self.transform(load(self.paths[index]))


# case: when it starts
class Early:
    def __init__(self, sounds):
        self.mels = [mel_spectrogram(s) for s in sounds]

    def __len__(self):
        return 9

    def __getitem__(self, index):
        return self.mels[index]


# case: a name alone
class Named:
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return self.mel_spectrogram[index]


# case: no data set
class Reader:
    def read(self, path):
        return mel_spectrogram(load(path))


# case: another method
class Shown:
    def __len__(self):
        return 9

    def show(self, index):
        return mel_spectrogram(self.sounds[index])

    def __getitem__(self, index):
        return self.sounds[index]


# case: no length
class Keys:
    def __getitem__(self, key):
        return mel_spectrogram(self.sounds[key])


# case: texts
class Texts:
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return self.tokenizer(self.texts[index])


# case: a batch
def collate(batch):
    return torch.stft(torch.stack(batch), 512)


# case: windows
class Windows:
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return self.sound[index * 512 : index * 512 + 512]


# case: of the disk
class Disk:
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return load_mels(self.paths[index])
# case: text that is parsed for each sample
class Clouds(torch.utils.data.Dataset):
    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        points = np.loadtxt(self.paths[index])  # expect: host-side-features
        return points


# case: short labels
class Boxes(torch.utils.data.Dataset):
    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        boxes = np.loadtxt(self.label_paths[index])
        return boxes


# ---
# case: computed where no file has it yet
import os

import torch


class Voices(torch.utils.data.Dataset):
    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        name = self.files[i] + ".spec"
        if os.path.exists(name):
            return torch.load(name)
        else:
            spec = mel_spectrogram(self.wave(i).to("cuda"))
            torch.save(spec, name)
        return spec


# ---
# case: by a method of the class above it
import torch


class Parser:
    def parse(self, name):
        return librosa.stft(read(name))  # expect: host-side-features


class Voices(torch.utils.data.Dataset, Parser):
    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.parse(self.files[i]).to("cuda")
