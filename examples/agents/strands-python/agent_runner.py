"""A hosted agent for wa2ai's profile `chat`: Strands behind FastAPI, with one session for each conversation."""

import hmac
import os
import threading
from pathlib import Path

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Query
from pydantic import BaseModel
from strands import Agent
from strands.session.file_session_manager import FileSessionManager
from strands_tools import editor, file_read, file_write, load_tool, python_repl, shell, use_agent

from conversation import Answers, history, session_name

SYSTEM_PROMPT = (
    "You are a helpful general-purpose assistant in a WhatsApp chat. Answer briefly, in the language of the person. "
    "Keep files in the current folder."
)
TOOLS = [file_read, file_write, editor, shell, use_agent, python_repl, load_tool]

# PORT, HOST, DATA_DIR and AGENT_TOKEN_FILE come from wa2ai.
DATA_DIR = Path(os.environ.get("DATA_DIR", "./data")).resolve()
TOKEN_FILE = os.environ.get("AGENT_TOKEN_FILE")
TOKEN = Path(TOKEN_FILE).read_text("utf-8").strip() if TOKEN_FILE else None


class Conversation:
    """A Strands agent whose session is restored from its files, and saved with each message."""

    def __init__(self, session_id: str) -> None:
        name = session_name(session_id)
        folder = DATA_DIR / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        self._answers = Answers(folder / f"{name}.answers.json")
        # An agent of Strands works on one message at a time.
        self._lock = threading.Lock()
        self._agent = Agent(
            # Absent: the default of Strands, Claude Sonnet on Amazon Bedrock.
            model=os.environ.get("MODEL_ID"),
            agent_id="assistant",
            system_prompt=SYSTEM_PROMPT,
            tools=TOOLS,
            session_manager=FileSessionManager(session_id=name, storage_dir=str(folder)),
            callback_handler=None,
        )

    def answer(self, message: str, message_id: str | None) -> str:
        with self._lock:
            return self._answers.once(message_id, lambda: str(self._agent(message)).strip())

    def history(self, count: int) -> list[dict[str, str]]:
        return history(list(self._agent.messages), count)


conversations: dict[str, Conversation] = {}
opening = threading.Lock()


def conversation_of(session_id: str) -> Conversation:
    with opening:
        if session_id not in conversations:
            conversations[session_id] = Conversation(session_id)
        return conversations[session_id]


def require_token(x_api_key: str = Header(default="")) -> None:
    """Every program on the machine can connect to the port; only wa2ai has the token."""
    if TOKEN is not None and not hmac.compare_digest(x_api_key.encode(), TOKEN.encode()):
        raise HTTPException(status_code=401, detail="wrong token")


app = FastAPI(dependencies=[Depends(require_token)])


class ChatRequest(BaseModel):
    message: str
    session_id: str = "default"
    message_id: str | None = None


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


# FastAPI runs functions without `async` in threads, so that /health answers while the agent works.
@app.post("/chat")
def chat(request: ChatRequest) -> dict[str, str]:
    return {"response": conversation_of(request.session_id).answer(request.message, request.message_id)}


@app.get("/history")
def read_history(
    count: int = Query(default=20, ge=1, le=500), session_id: str = "default"
) -> dict[str, list[dict[str, str]]]:
    return {"messages": conversation_of(session_id).history(count)}


if __name__ == "__main__":
    workspace = DATA_DIR / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    # The tools work in the current folder.
    os.chdir(workspace)
    uvicorn.run(app, host=os.environ.get("HOST", "0.0.0.0"), port=int(os.environ.get("PORT", "8080")))
