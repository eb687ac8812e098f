// One delivery: the event, every attempt to send it, and sending it again.

import { Code, Group, Stack } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { DeliveryShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { formatMs } from '../../figures.ts';
import { useMe } from '../../me.tsx';
import { useDestinationNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { type Column, PlainTable } from '../../parts/data-table.tsx';
import { ActionButton, pathOf, TextLink } from '../../parts/link.tsx';
import { Facts, FailureNotice, Hint, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useGet } from '../../queries.ts';
import { NextAttempt } from './deliveries.tsx';
import { managesDestinations } from './words.ts';

const REFRESH_MS = 2_000;

export function DeliveryShow() {
  const { deliveryId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useGet('/deliveries/{id}', { id: deliveryId, everyMs: REFRESH_MS });
  if (data !== undefined && data.id === deliveryId) return <Details delivery={data} />;
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  return <Loading />;
}

type Attempt = DeliveryShape['attempts'][number];

const attemptColumns: readonly Column<Attempt>[] = [
  { name: 'at', label: 'Time', show: ({ at }) => <When at={at} isPrecise /> },
  { name: 'result', label: 'Result', show: (attempt) => <Result attempt={attempt} /> },
  { name: 'ms', label: 'Duration', align: 'right', from: 'xs', show: ({ ms }) => formatMs(ms) },
];

function Details({ delivery }: { delivery: DeliveryShape }) {
  const me = useMe();
  const destinationName = useDestinationNames([delivery.destination]);
  const again = useChange(() => call('POST /deliveries/{id}/redeliver', { id: delivery.id, body: {} }), {
    done: 'The event will be sent again.',
  });
  const { id, type, timestamp, account, data, title, description } = delivery.event;
  return (
    <Stack gap="lg">
      <div>
        <PageHead
          title={title}
          text={
            <Group gap="xs">
              <StatusBadge status={delivery.status} />
              <Code>{delivery.id}</Code>
            </Group>
          }
          actions={
            managesDestinations(me) && (
              <ActionButton
                label="Resend"
                icon="refresh"
                loading={again.isPending}
                onClick={() => again.mutate(undefined)}
              />
            )
          }
        />
        <FailureNotice failure={again.error} />
      </div>
      <Section title="Delivery">
        <Facts
          facts={[
            { name: 'Event', value: description },
            {
              name: 'Destination',
              value: (
                <TextLink to={pathOf.destination(delivery.destination)}>
                  {destinationName(delivery.destination)}
                </TextLink>
              ),
            },
            { name: 'Created', value: <When at={delivery.created_at} isPrecise /> },
            delivery.done_at === null ? null : { name: 'Done', value: <When at={delivery.done_at} isPrecise /> },
            delivery.status === 'pending' ? { name: 'Next attempt', value: <NextAttempt delivery={delivery} /> } : null,
          ]}
        />
      </Section>
      <Section title="Attempts" text="Latest attempts, oldest first" isPadded={false}>
        {delivery.attempts.length === 0 ? (
          <Hint px="md" pb="md">
            No attempts yet.
          </Hint>
        ) : (
          <PlainTable
            label="Attempts"
            isFolding
            columns={attemptColumns}
            rows={delivery.attempts}
            keyOf={({ at, ms }) => `${at} ${ms}`}
          />
        )}
      </Section>
      <Section title="Event payload" text="The JSON body of a webhook">
        <CodeBlock code={JSON.stringify({ id, type, timestamp, account, data }, null, 2)} />
      </Section>
    </Stack>
  );
}

function Result({ attempt }: { attempt: Attempt }) {
  const { error, excerpt, status } = attempt;
  if (error === null)
    return <StatusBadge status="delivered" {...(status !== null && { label: `Delivered (${status})` })} />;
  return (
    <Stack gap={4} align="flex-start">
      <StatusBadge status="failed" />
      <span className="wrap">{error}</span>
      {excerpt !== null && excerpt !== '' && (
        <Code className="wrap" style={{ whiteSpace: 'pre-wrap' }}>
          {excerpt}
        </Code>
      )}
    </Stack>
  );
}
