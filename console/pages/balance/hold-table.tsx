// What is held for the messages that run now.

import { Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { HoldShape } from '../../../src/admin-api/shapes.ts';
import { type Names, useNames } from '../../names.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Money } from '../../parts/money.tsx';
import { When } from '../../parts/when.tsx';
import type { Rows } from '../../queries.ts';
import { words } from '../../words.ts';

const its = words.balance;

export function HoldTable({ holds }: { holds: Rows<HoldShape> }) {
  const names = useNames(holds.rows.map(({ key }) => ({ key, account: null })));
  return (
    <section aria-labelledby="balance-holds">
      <Title order={2} size="h4" mb="sm" id="balance-holds">
        {its.holds}
      </Title>
      <DataTable
        label={its.holds}
        columns={columnsFor(names)}
        rows={holds}
        keyOf={({ request_id: requestId }) => requestId}
        empty={
          <Text size="sm" c="dimmed">
            {its.holdsNone}
          </Text>
        }
      />
    </section>
  );
}

function columnsFor(names: Names): Column<HoldShape>[] {
  const { hold } = its;
  return [
    {
      name: 'model',
      label: hold.model,
      show: ({ model, caller_left: hasLeft }) => (
        <Stack gap={0}>
          <span>{model}</span>
          {hasLeft && (
            <Text size="xs" c="dimmed">
              {hold.left}
            </Text>
          )}
        </Stack>
      ),
    },
    {
      name: 'key',
      label: hold.key,
      show: ({ key }) => (
        <Text size="sm" renderRoot={(props) => <Link {...props} to="/keys/$keyId" params={{ keyId: key }} />}>
          {names.key(key)}
        </Text>
      ),
    },
    { name: 'request', label: hold.request, from: 'md', show: ({ request_id: requestId }) => requestId },
    { name: 'since', label: hold.since, from: 'sm', show: ({ since }) => <When at={since} isRelative /> },
    { name: 'amount', label: hold.amount, align: 'right', show: ({ amount }) => <Money usd={amount} /> },
  ];
}
