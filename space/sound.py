"""Hears what a recording says: a sound file -> text and the times of its words, as transformers gives them.

The recogniser is any model of transformers' task automatic-speech-recognition. It knows nothing of the page.
"""

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "RECOGNISER"  # a folder, or an id on the Hub
MAX_SECONDS = 600  # of a recording
MAX_BYTES = 60_000_000  # ten minutes of WAV in CD quality are half of it
CHUNK_SECONDS = 30  # that the recogniser hears at once


class Recogniser:
    """Recognises recordings, one after the other."""

    def __init__(self, name: str) -> None:
        from transformers import pipeline  # seconds, where no recogniser is wanted

        self._recognise: Any = pipeline("automatic-speech-recognition", model=name)
        self._turn = threading.Lock()
        has_times = self._recognise.type != "seq2seq"  # of these only Whisper knows when words were
        self._options = {"return_timestamps": "word"} if has_times else {}

    def __call__(self, path: Path) -> dict[str, Any]:
        """What a recording says: `{"text", "chunks": [{"text", "timestamp": (start, end)}, ...]}`, times in seconds.

        A ValueError, in a visitor's words, for what cannot be read or is too long.
        """
        rate = self._recognise.feature_extractor.sampling_rate
        samples = read_sound(path, rate)
        with self._turn:
            return self._recognise(
                {"raw": samples, "sampling_rate": rate},
                chunk_length_s=CHUNK_SECONDS,
                **self._options,
            )


def read_sound(path: Path, rate: int) -> np.ndarray:
    """Samples (n,) of a recording in one channel, -1 to 1, `rate` a second. WAV always works, others need ffmpeg."""
    from pydub import AudioSegment  # comes with Gradio; only recordings need it
    from pydub.exceptions import CouldntDecodeError

    try:
        with path.open("rb") as file:
            is_wav = path.suffix.lower() == ".wav"
            sound = AudioSegment.from_wav(file) if is_wav else AudioSegment.from_file(path)
    except (CouldntDecodeError, FileNotFoundError, IndexError) as error:
        raise ValueError("This recording cannot be read. Save it as WAV and try again.") from error
    if sound.duration_seconds > MAX_SECONDS:
        most = f"{MAX_SECONDS // 60} minutes"
        raise ValueError(f"This recording is too long: the page takes up to {most}. Cut it.")
    sound = sound.set_channels(1).set_frame_rate(rate).set_sample_width(2)
    return np.array(sound.get_array_of_samples(), dtype=np.float32) / 32_768


def recogniser() -> Recogniser | None:
    """The recogniser that the environment names, or None."""
    name = os.environ.get(VARIABLE)
    return Recogniser(name) if name else None
