// The plans of the catalog: price, allowances, groups and limits. Operators edit them here.

import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { PlanShape } from '../../../src/admin-api/shapes.ts';
import { useMe } from '../../me.tsx';
import { StatusBadge } from '../../parts/badges.tsx';
import { type Column, DataTable, moneyColumn } from '../../parts/data-table.tsx';
import { Modal } from '../../parts/later.tsx';
import { ActionButton, Icon } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, Hint, PageHead } from '../../parts/page.tsx';
import { useList } from '../../queries.ts';
import { leave } from '../../unsaved.ts';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { limitTexts } from '../groups/limits.ts';
import { PlanForm } from './form.tsx';
import { allowanceTexts } from './windows.ts';

export function PlanList() {
  const isOperator = useMe().role === 'operator';
  const plans = useList('/plans', { query: { limit: 1000 } });
  const [edited, setEdited] = useState<PlanShape | 'new' | null>(null);
  const removing = useReview({ done: 'Plan deleted.' });
  const remove = ({ name }: PlanShape) => removing.preview(() => ({ document: {}, remove: [{ kind: 'plan', name }] }));
  const add = <ActionButton label="Create plan" isPrimary icon="plus" onClick={() => setEdited('new')} />;
  return (
    <>
      <PageHead
        title="Plans"
        text="A plan gives an account an allowance per window, which pays before the balance. Account holders buy offered plans. Operators can assign any plan."
        actions={isOperator && add}
      />
      <Stack>
        <FailureNotice failure={removing.failure} />
        <DataTable
          label="Plans"
          isFolding
          rows={plans}
          columns={[...columns, ...(isOperator ? [actionsColumn(setEdited, remove)] : [])]}
          keyOf={({ name }) => name}
          empty={
            <EmptyState
              icon="calendar"
              title="No plans yet"
              text="Create a plan, such as 40 USD of usage per month with at most 2 USD in 5 hours, and offer it or assign it to accounts."
              action={isOperator && add}
            />
          }
        />
      </Stack>
      <ReviewDialog apply={removing} />
      <Modal
        opened={edited !== null}
        onClose={() => leave(() => setEdited(null))}
        size="lg"
        title={edited === null || edited === 'new' ? 'Create plan' : `Edit ${edited.name}`}
      >
        {edited !== null && <PlanForm plan={edited === 'new' ? null : edited} onDone={() => setEdited(null)} />}
      </Modal>
    </>
  );
}

const columns: Column<PlanShape>[] = [
  {
    name: 'name',
    label: 'Plan',
    show: (plan) => (
      <Stack gap={0}>
        <Text size="sm" fw={600} className="wrap">
          {plan.title}
        </Text>
        <Hint size="xs" className="wrap">
          {plan.name}
        </Hint>
      </Stack>
    ),
  },
  moneyColumn('price', 'Price per month', ({ price }) => price, { precision: 'exact', from: 'sm' }),
  {
    name: 'windows',
    label: 'Allowances',
    from: 'sm',
    show: (plan) => (
      <Stack gap={0}>
        {allowanceTexts(plan).map((text) => (
          <Text key={text} size="sm" className="tabular">
            {text}
          </Text>
        ))}
      </Stack>
    ),
  },
  {
    name: 'groups',
    label: 'Groups',
    from: 'md',
    show: ({ groups }) =>
      groups.length === 0 ? <Hint>All groups of the account</Hint> : <Text size="sm">{groups.join(', ')}</Text>,
  },
  { name: 'limits', label: 'Limits', from: 'lg', show: (plan) => <Limits plan={plan} /> },
  { name: 'offered', label: 'Sale', from: 'sm', show: (plan) => <SaleBadge plan={plan} /> },
];

function Limits({ plan: { limits } }: { plan: PlanShape }) {
  const texts = limitTexts(limits);
  return texts.length === 0 ? <Hint>Group limits</Hint> : <Text size="sm">{texts.join(' · ')}</Text>;
}

function SaleBadge({ plan: { offered: isOffered, for_sale: isForSale } }: { plan: PlanShape }) {
  if (!isOffered) return <StatusBadge status="disabled" label="Not offered" />;
  return (
    <StatusBadge status={isForSale ? 'enabled' : 'pending'} label={isForSale ? 'Offered' : 'Offered, not in Stripe'} />
  );
}

function actionsColumn(onEdit: (plan: PlanShape) => void, onRemove: (plan: PlanShape) => void): Column<PlanShape> {
  return {
    name: 'actions',
    label: '',
    align: 'right',
    show: (plan) => (
      <Group gap={6} justify="flex-end" wrap="nowrap">
        <Button size="xs" variant="default" onClick={() => onEdit(plan)} aria-label={`Edit ${plan.name}`} px={8}>
          <Icon name="pencil" sizePx={16} />
        </Button>
        <Button size="xs" variant="default" onClick={() => onRemove(plan)} aria-label={`Delete ${plan.name}`} px={8}>
          <Icon name="trash" sizePx={16} />
        </Button>
      </Group>
    ),
  };
}
