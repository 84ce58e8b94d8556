"""Producer ids: InitProducerId at any broker, once per cluster and whenever an id is spent."""

from __future__ import annotations

from collections.abc import Collection

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.sender.producer_batch import ProducerIdentity
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest


class ProducerIds:
    """The identity for new sequences."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self.current: ProducerIdentity | None = None

    async def have(self, spent: Collection[int]) -> ProducerIdentity | None:
        """An identity of the client's present cluster whose id is not `spent`; None when the cluster changed meanwhile.
        ClientFailure or KafkaError when no producer id can be obtained now."""
        cluster_id = self._client.view.cluster_id
        current = self.current
        if current is not None and current.cluster_id == cluster_id and current.producer_id not in spent:
            return current
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        response = await self._client.request_any(request, timeout_ms=self._client.settings.request_timeout_ms)
        if response.error_code != Error.NONE:
            raise KafkaError(Error.of(response.error_code), "no producer id is available")
        if cluster_id != self._client.view.cluster_id:
            return None
        self.current = ProducerIdentity(response.producer_id, response.producer_epoch, cluster_id)
        return self.current
