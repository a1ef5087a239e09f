"""A web service that tells which rules are true of an event, and reloads them when a new version is published."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, HTTPException

import matchwood as mw

index = mw.open(os.environ.get("RULES", "rules.matchwood"), read_only=True)


async def follow(seconds: float = 1.0) -> None:
    """Take over each new version; if one cannot be opened, keep the rules that work."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await asyncio.to_thread(index.reload)
        except mw.MatchwoodError as error:
            logging.getLogger("uvicorn.error").warning("the rules were not reloaded: %s", error)


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    index.match({})  # loads or compiles what matching needs, before the first request
    following = asyncio.create_task(follow())
    yield
    following.cancel()


app = FastAPI(lifespan=lifespan)


@app.post("/match")
def match(event: dict[str, Any]) -> list[str | int]:
    """The ids of the rules that are true of an event."""
    try:
        return index.match(event)
    except mw.EventError as error:
        raise HTTPException(422, str(error)) from None


@app.post("/explain/{rule}")
def explain(rule: str, event: dict[str, Any]) -> dict[str, Any]:
    """Why a rule is true of an event, or is not."""
    try:
        return index.explain(event, rule).to_dict()
    except mw.UnknownRule as error:
        raise HTTPException(404, str(error)) from None


@app.get("/health")
def health() -> dict[str, Any]:
    """Which version of the rules is in use."""
    return {"version": index.version, "rules": len(index)}
