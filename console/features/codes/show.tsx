// One batch of redemption codes: its terms, and who redeemed which code. Operators revoke it here.

import { Stack } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { CodeBatchShape, CodeShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { formatCount } from '../../figures.ts';
import { entryKindLabels } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { type Names, useActors, useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { ActionButton, pathOf, TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Facts, Heading, Hint, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useGet, useList } from '../../queries.ts';

export function CodeBatchShow() {
  const { batchId = '' } = useParams({ strict: false });
  const { role } = useMe();
  const { data, error, refetch } = useGet('/code-batches/{id}', { id: batchId });
  if (data === undefined || data.id !== batchId)
    return error === null ? <Loading /> : <PageFailure failure={error} onRetry={() => void refetch()} />;
  return (
    <>
      <PageHead
        title={data.name}
        text="A batch of redemption codes."
        actions={
          <>
            <CsvButton
              path="/code-batches/{id}/codes"
              id={batchId}
              query={{}}
              columns={csvColumns}
              fileName={`redemptions-${batchId}.csv`}
            />
            {role === 'operator' && <StatusButton batch={data} />}
          </>
        }
      />
      <Stack>
        <BatchFacts batch={data} />
        <Codes batchId={batchId} />
      </Stack>
    </>
  );
}

/** Revoking asks for confirmation; enabling does not. */
function StatusButton({ batch: { id, name, status } }: { batch: CodeBatchShape }) {
  const change = useChange(
    (next: 'enabled' | 'disabled') => call('PATCH /code-batches/{id}', { id, body: { status: next } }),
    { done: status === 'disabled' ? 'Codes enabled.' : 'Codes revoked.' },
  );
  if (status === 'disabled')
    return <ActionButton label="Enable" onClick={() => change.mutate('enabled')} loading={change.isPending} />;
  return (
    <ConfirmButton
      label="Revoke"
      title={`Revoke the codes of ${name}?`}
      text="Unredeemed codes stop working. Redeemed credit is not affected. You can enable the batch again."
      change={change}
      input={'disabled'}
    />
  );
}

function BatchFacts({ batch }: { batch: CodeBatchShape }) {
  const actorName = useActors([batch.made_by]);
  return (
    <Section title="Batch" aside={<StatusBadge status={batch.status} />}>
      <Facts
        facts={[
          { name: 'Amount of each code', value: <Money usd={batch.amount} precision="exact" /> },
          { name: 'Redeemed', value: `${formatCount(batch.redeemed)} of ${formatCount(batch.count)}` },
          { name: 'Credit type', value: entryKindLabels[batch.kind] },
          { name: 'Expires', value: <When at={batch.expires_at} /> },
          { name: 'One per account', value: batch.once_per_account ? 'Yes' : 'No' },
          batch.note === null ? null : { name: 'Note', value: batch.note },
          { name: 'Created', value: <When at={batch.created_at} /> },
          { name: 'Created by', value: actorName(batch.made_by) },
        ]}
      />
    </Section>
  );
}

function Codes({ batchId }: { batchId: string }) {
  const rows = useList('/code-batches/{id}/codes', { id: batchId });
  const names = useNames(rows.rows.map(({ account }) => ({ account, key: null })));
  const actorName = useActors(rows.rows.map((row) => row.redeemed_by));
  return (
    <section aria-labelledby="batch-codes">
      <Heading mb="sm" id="batch-codes">
        Codes
      </Heading>
      <DataTable
        label="Codes"
        isFolding
        columns={columnsFor(names, actorName)}
        rows={rows}
        keyOf={({ id }) => id}
        empty={<Hint>No codes.</Hint>}
      />
    </section>
  );
}

function columnsFor(names: Names, actorName: (id: string | null) => string): Column<CodeShape>[] {
  return [
    { name: 'number', label: 'Number', show: ({ id }) => id.slice(id.indexOf(':') + 1) },
    {
      name: 'account',
      label: 'Redeemed by account',
      show: ({ account }) =>
        account === null ? (
          <Hint>Not redeemed</Hint>
        ) : (
          <TextLink to={pathOf.account(account)} className="wrap">
            {names.account(account)}
          </TextLink>
        ),
    },
    {
      name: 'by',
      label: 'User',
      from: 'sm',
      show: ({ redeemed_by: by }) => (by === null ? '' : actorName(by)),
    },
    {
      name: 'at',
      label: 'Redeemed',
      from: 'sm',
      show: ({ redeemed_at: at }) => at !== null && <When at={at} />,
    },
  ];
}

const csvNames = ['id', 'account', 'redeemed_at', 'redeemed_by'] as const;
const csvColumns = csvNames.map((name) => ({ name, value: (row: CodeShape) => row[name] }));
