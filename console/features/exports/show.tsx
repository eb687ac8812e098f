// One export: its settings and its runs.

import { Code, Group, Stack } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ExportRunShape, ExportShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { formatCount } from '../../figures.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { useActors, useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { type Column, DataTable, timeColumn } from '../../parts/data-table.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { EmptyState, Facts, Heading, Hint, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useGet, useList } from '../../queries.ts';
import { formatUtcDate, formatUtcMonth } from '../../times.ts';
import {
  type Dimension,
  dimensionLabels,
  everyLabels,
  formatLabels,
  kindLabels,
  managesExports,
  nameOfExport,
  targetOf,
} from './words.ts';

const REFRESH_MS = 5_000;

export function ExportShow() {
  const { exportId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useGet('/exports/{id}', { id: exportId });
  if (data !== undefined && data.id === exportId) return <Details row={data} />;
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  return <Loading />;
}

function Details({ row }: { row: ExportShape }) {
  const me = useMe();
  const runs = useList('/exports/{id}/runs', { id: row.id, everyMs: REFRESH_MS });
  return (
    <Stack gap="lg">
      <PageHead
        title={nameOfExport(row)}
        text={
          <Group gap="xs">
            <StatusBadge status={row.status} />
            <Code>{row.id}</Code>
          </Group>
        }
        actions={managesExports(me) && <Actions row={row} />}
      />
      <Section title="Settings">
        <Settings row={row} />
      </Section>
      <div>
        <Heading mb="xs">Runs</Heading>
        <DataTable
          label="Runs"
          isFolding
          columns={columns}
          rows={runs}
          keyOf={({ period }) => period}
          empty={<EmptyState icon="history" title="No runs yet" text="The first file is sent when its period ends." />}
        />
      </div>
    </Stack>
  );
}

const columns: Column<ExportRunShape>[] = [
  {
    name: 'period',
    label: 'Period',
    show: ({ period }) => (
      <span className="tabular">{period.length === 7 ? formatUtcMonth(period) : formatUtcDate(period)}</span>
    ),
  },
  { name: 'status', label: 'Status', show: (run) => <RunStatus run={run} /> },
  { name: 'rows', label: 'Rows', from: 'sm', align: 'right', show: ({ rows }) => formatCount(rows) },
  { name: 'files', label: 'Files', from: 'lg', align: 'right', show: ({ objects }) => objects.length },
  timeColumn('done', 'Completed', ({ done_at }) => done_at, { from: 'md' }),
];

const statusOf = {
  pending: { status: 'pending' },
  done: { status: 'delivered', label: 'Sent' },
  failed: { status: 'failed' },
} as const;

function RunStatus({ run }: { run: ExportRunShape }) {
  return (
    <Stack gap={2} align="flex-start">
      <StatusBadge {...statusOf[run.status]} />
      {run.error !== null && (
        <Hint size="xs" className="wrap" maw={360}>
          {run.error}
        </Hint>
      )}
    </Stack>
  );
}

function wordsOf({ tag_name }: ExportShape, name: Dimension): string {
  return name === 'tag' ? `${dimensionLabels.tag} ${tag_name}` : dimensionLabels[name];
}

function Settings({ row }: { row: ExportShape }) {
  const me = useMe();
  const names = useNames([{ account: row.account, key: null }]);
  const actorName = useActors([row.made_by]);
  const named = row.account === null ? 'All accounts' : names.account(row.account);
  const account = row.below ? <>{named} and its sub-accounts</> : named;
  return (
    <Facts
      facts={[
        { name: 'Content', value: kindLabels[row.kind] },
        row.by.length > 0 ? { name: 'Group by', value: row.by.map((name) => wordsOf(row, name)).join(', ') } : null,
        { name: 'Format', value: formatLabels[row.format] },
        { name: 'Frequency', value: everyLabels[row.every] },
        { name: row.target === 'mail' ? 'To' : 'Bucket', value: targetOf(row) },
        row.s3_endpoint === null ? null : { name: 'Endpoint', value: row.s3_endpoint },
        seesInstallation(me) || row.below ? { name: 'Account', value: account } : null,
        { name: 'Next run', value: <When at={row.status === 'enabled' ? row.due_at : null} /> },
        { name: 'Created', value: <When at={row.created_at} /> },
        { name: 'Created by', value: actorName(row.made_by) },
      ]}
    />
  );
}

function Actions({ row: { id, status } }: { row: ExportShape }) {
  const isEnabled = status === 'enabled';
  const body = { status: isEnabled ? 'disabled' : 'enabled' };
  const toggle = useChange(() => call('PATCH /exports/{id}', { id, body }), {
    done: isEnabled ? 'Export disabled.' : 'Export enabled.',
  });
  const run = useChange(() => call('POST /exports/{id}/run', { id, body: {} }), { done: 'The file is being sent.' });
  return (
    <>
      <ConfirmButton
        label={isEnabled ? 'Disable' : 'Enable'}
        title={isEnabled ? 'Disable this export?' : 'Enable this export?'}
        text={isEnabled ? 'No more files are sent.' : 'The next file covers the current period.'}
        {...(!isEnabled && { color: 'road' })}
        change={toggle}
        input={undefined}
      />
      {isEnabled && (
        <ConfirmButton
          label="Send now"
          title="Send the last period now?"
          text="Sends the file of the last complete period, even if it was sent before."
          color="road"
          change={run}
          input={undefined}
        />
      )}
    </>
  );
}
