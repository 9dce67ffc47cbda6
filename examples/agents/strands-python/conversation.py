"""What the agent needs besides Strands and FastAPI: answers that were given, and a history without calls of tools."""

import json
import os
from pathlib import Path
from typing import Any, Callable, Iterable

MAX_ANSWERS = 200


class Answers:
    """The last answers by the id of their message, in a file. wa2ai repeats a message whose answer it did not get."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._answers: dict[str, str] = json.loads(file.read_text("utf-8")) if file.exists() else {}

    def once(self, message_id: str | None, work: Callable[[], str]) -> str:
        """The stored answer to the message, or that of `work`, which is stored."""
        if message_id is None:
            return work()
        if message_id not in self._answers:
            self._answers[message_id] = work()
            for oldest in list(self._answers)[:-MAX_ANSWERS]:
                del self._answers[oldest]
            self._save()
        return self._answers[message_id]

    def _save(self) -> None:
        # The file is whole at any time, also when the agent is ended while it writes.
        draft = self._file.with_suffix(".new")
        draft.write_text(json.dumps(self._answers, ensure_ascii=False), "utf-8")
        os.replace(draft, self._file)


def history(messages: Iterable[dict[str, Any]], count: int) -> list[dict[str, str]]:
    """The newest `count` messages with text, oldest first, as `{"role", "content"}`; `count` is at least 1."""
    said = []
    for message in messages:
        # Blocks without text are calls of tools and their results.
        text = "".join(block.get("text", "") for block in message["content"])
        if text:
            said.append({"role": message["role"], "content": text})
    return said[-count:]


def session_name(session_id: str) -> str:
    """A name for the files of a session: an id is never a path."""
    return "".join(each if each.isalnum() or each in "-_" else "_" for each in session_id)[:120] or "default"
