// One batch of requests: how far it is, its money, who made it, and who runs its requests. It can be canceled here.

import { Code, Group, Progress, Stack, Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { BatchDetailsShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { countOf, formatCount } from '../../figures.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { useActors, useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { type Column, PlainTable } from '../../parts/data-table.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { ButtonLink, pathOf, TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { type Fact, Facts, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useGet } from '../../queries.ts';
import { rangeText } from '../../range.ts';
import { doneOf, formLabels, modelsText } from './words.ts';

const REFRESH_MS = 5_000;

export function BatchShow() {
  const { clientBatchId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useGet('/batches/{id}', { id: clientBatchId, everyMs: REFRESH_MS });
  if (data !== undefined && data.id === clientBatchId) return <Details batch={data} />;
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  return <Loading />;
}

function Details({ batch }: { batch: BatchDetailsShape }) {
  const { role } = useMe();
  const { id, key, status, created_at: at, ended_at: endedAt } = batch;
  const range = rangeText(Date.parse(at), endedAt === null ? null : Date.parse(endedAt) + 1);
  return (
    <Stack gap="md">
      <PageHead
        title="Batch"
        text={
          <Group gap="xs">
            <StatusBadge status={status} />
            <Code>{id}</Code>
          </Group>
        }
        actions={
          <>
            <ButtonLink label="Requests of the key" variant="default" icon="list" to="/usage" search={{ key, range }} />
            {role !== 'viewer' && status === 'running' && <CancelButton batch={batch} />}
          </>
        }
      />
      <Section title="Progress">
        <ProgressOf batch={batch} />
      </Section>
      <Section title="Cost">
        <Facts
          facts={[
            { name: status === 'ended' ? 'Cost' : 'Cost so far', value: <Money usd={batch.cost} none="Unknown" /> },
            status === 'ended' ? null : { name: 'Held', value: <Money usd={batch.reserved} /> },
          ]}
        />
      </Section>
      <Section title="Details">
        <BatchFacts batch={batch} />
      </Section>
      {batch.parts.length > 0 && <Sending batch={batch} />}
    </Stack>
  );
}

function CancelButton({ batch: { id, parts } }: { batch: BatchDetailsShape }) {
  const cancel = useChange(() => call('POST /batches/{id}/cancel', { id, body: {} }), { done: 'Batch canceled.' });
  return (
    <ConfirmButton
      label="Cancel batch"
      title="Cancel this batch?"
      text={
        <Stack gap="xs">
          <Text inherit>
            No further request is sent. Requests in progress are completed and billed, and their results stay available.
          </Text>
          {parts.length > 0 && (
            <Text inherit>
              The provider is asked to cancel its part. Requests that it has completed by then are billed.
            </Text>
          )}
          <Text inherit>The money held for the other requests becomes available again when the batch has ended.</Text>
        </Stack>
      }
      change={cancel}
      input={undefined}
    />
  );
}

const outcomes = [
  ['succeeded', 'Succeeded', 'teal.7'],
  ['errored', 'Failed', 'red.7'],
  ['canceled', 'Canceled', 'gray.6'],
  ['expired', 'Expired', 'yellow.7'],
] as const;

function ProgressOf({ batch }: { batch: BatchDetailsShape }) {
  const { requests, status } = batch;
  const done = doneOf(batch);
  const shown = outcomes.filter(([name]) => name === 'succeeded' || batch[name] > 0);
  return (
    <>
      <Text size="sm" className="tabular">
        {`${formatCount(done)} of ${countOf(requests, 'request')} done`}
      </Text>
      <Progress.Root size="lg" aria-hidden="true">
        {outcomes.map(([name, , color]) => (
          <Progress.Section key={name} value={(100 * batch[name]) / requests} color={color} />
        ))}
      </Progress.Root>
      <Facts
        facts={[
          ...shown.map(([name, label]) => ({ name: label, value: formatCount(batch[name]) })),
          status === 'ended' ? null : { name: 'Not done', value: formatCount(requests - done) },
        ]}
      />
    </>
  );
}

function BatchFacts({ batch }: { batch: BatchDetailsShape }) {
  const { account, key, person, form, endpoint, models, groups, parts, status } = batch;
  const names = useNames([batch]);
  const actorName = useActors([person]);
  const link = (name: string, to: string, text: string): Fact => ({ name, value: <TextLink to={to}>{text}</TextLink> });
  const time = (name: string, at: string | null): Fact | null =>
    at === null ? null : { name, value: <When at={at} /> };
  const list = (name: string, text: string): Fact | null => (text === '' ? null : { name, value: text });
  return (
    <Facts
      facts={[
        seesInstallation(useMe()) ? link('Account', pathOf.account(account), names.account(account)) : null,
        link('API key', pathOf.key(key), names.key(key)),
        person === null ? null : { name: 'User', value: actorName(person) },
        { name: 'API', value: formLabels[form] },
        { name: 'Endpoint', value: <Code>{endpoint}</Code> },
        list('Models', modelsText(batch, models.length)),
        list('Groups', groups.join(', ')),
        list('Sending', parts.length === 0 ? 'One by one' : ''),
        time('Created', batch.created_at),
        time('Canceled', batch.cancel_requested_at),
        status === 'ended' ? time('Ended', batch.ended_at) : time('Ends by', batch.expires_at),
      ]}
    />
  );
}

interface Way {
  name: string;
  requests: number;
  status: string;
}

const partStatusLabels = { sending: 'Being sent', running: 'Running', ended: 'Ended' } as const;

/** Who runs the requests: providers in batches of their own, or this service one by one. */
function Sending({ batch: { requests, parts } }: { batch: BatchDetailsShape }) {
  const alone = requests - parts.reduce((sum, part) => sum + part.requests, 0);
  const ways: Way[] = [
    ...parts.map(({ provider, requests: count, status }) => ({
      name: provider === null ? 'Sent to the provider as a batch' : `Sent to ${provider} as a batch`,
      requests: count,
      status: partStatusLabels[status],
    })),
    ...(alone > 0 ? [{ name: 'Sent one by one', requests: alone, status: '' }] : []),
  ];
  return (
    <Section title="Sending" isPadded={false}>
      <PlainTable
        label="Sending"
        columns={wayColumns}
        rows={ways}
        keyOf={(way) => `${way.name} ${ways.indexOf(way)}`}
      />
    </Section>
  );
}

const wayColumns: Column<Way>[] = [
  { name: 'name', label: 'Sent', show: ({ name }) => <span className="wrap">{name}</span> },
  { name: 'requests', label: 'Requests', align: 'right', show: ({ requests }) => formatCount(requests) },
  { name: 'status', label: 'Status', align: 'right', show: ({ status }) => status },
];
