"""The two topics of a measurement: events in one, their hits in another."""

from __future__ import annotations

import uuid
from typing import Any

PARTITIONS = 2


class Topics:
    """Made for one run, through the client that Spark's connector brings along."""

    def __init__(self, session: Any, broker: str) -> None:
        self._spark, self._broker = session, broker
        self._options, run = {"kafka.bootstrap.servers": broker}, uuid.uuid4().hex[:8]
        self._events, self._hits = f"matchwood-events-{run}", f"matchwood-hits-{run}"
        self._create()

    def send(self, events: Any, checkpoint: str, trigger: dict[str, str]) -> Any:
        """Send numbered events (`value`, `event`), under way."""
        messages = events.selectExpr("CAST(value AS string) AS key", "event AS value")
        writer = messages.writeStream.format("kafka").options(**self._options).option("topic", self._events)
        return writer.option("checkpointLocation", checkpoint).trigger(**trigger).start()

    def events(self) -> Any:
        """The messages, as text, with their times in milliseconds."""
        stream = self._spark.readStream.format("kafka").options(**self._options)
        messages = stream.option("subscribe", self._events).option("startingOffsets", "earliest").load()
        number, sent = "CAST(CAST(key AS string) AS bigint) AS number", "unix_micros(timestamp) / 1000 AS sent"
        return messages.selectExpr(number, "CAST(value AS string) AS value", sent)

    def send_hits(self, hits: Any) -> None:
        told = hits.where("size(rules) > 0").selectExpr("to_json(struct(number, sent, rules)) AS value")
        told.write.format("kafka").options(**self._options).option("topic", self._hits).save()

    def hits(self) -> list[Any]:
        """Number, time sent and time answered of all events that had hits, and their rules."""
        messages = self._spark.read.format("kafka").options(**self._options).option("subscribe", self._hits).load()
        shape = "number bigint, sent double, rules array<bigint>"
        told = f"from_json(CAST(value AS string), '{shape}') AS told"
        read = messages.selectExpr(told, "unix_micros(timestamp) / 1000 AS done")
        rows: list[Any] = read.selectExpr("told.number", "told.sent", "done", "told.rules").collect()
        return rows

    def _create(self) -> None:
        virtual_machine = self._spark._jvm
        admin, settings = virtual_machine.org.apache.kafka.clients.admin, virtual_machine.java.util.Properties()
        settings.put("bootstrap.servers", self._broker)
        topics = virtual_machine.java.util.ArrayList()
        for name in (self._events, self._hits):
            topics.add(admin.NewTopic(name, PARTITIONS, 1))
        client = admin.AdminClient.create(settings)
        try:
            client.createTopics(topics).all().get()
        finally:
            client.close()
