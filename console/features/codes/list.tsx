// Batches of redemption codes. Operators create them here.

import { useState } from 'react';
import type { CodeBatchShape, CreatedCodeBatchShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { useMe } from '../../me.tsx';
import { type Column, DataTable, moneyColumn, NameLink, statusColumn, timeColumn } from '../../parts/data-table.tsx';
import { Modal } from '../../parts/later.tsx';
import { ActionButton, pathOf } from '../../parts/link.tsx';
import { EmptyState, PageHead } from '../../parts/page.tsx';
import { useList } from '../../queries.ts';
import { leave, leaveSecret } from '../../unsaved.ts';
import { CodeBatchForm, CreatedCodes } from './create.tsx';

export function CodeBatchList() {
  const isOperator = useMe().role === 'operator';
  const rows = useList('/code-batches');
  const [dialog, setDialog] = useState<'form' | CreatedCodeBatchShape | null>(null);
  const close = () => leaveSecret(() => setDialog(null));
  const create = isOperator && (
    <ActionButton label="Create codes" isPrimary icon="plus" onClick={() => setDialog('form')} />
  );
  return (
    <>
      <PageHead
        title="Redemption codes"
        text="Each code adds its amount to the balance of the account that redeems it. Codes are created in batches and stored as hashes."
        actions={create}
      />
      <DataTable
        label="Redemption codes"
        rows={rows}
        columns={columns}
        keyOf={({ id }) => id}
        linkTo={({ id }) => pathOf.codeBatch(id)}
        empty={
          <EmptyState
            icon="gift"
            title="No codes yet"
            text="Create a batch of codes to sell credit or give it away."
            action={create}
          />
        }
      />
      <Modal
        opened={dialog !== null}
        onClose={() => leave(() => setDialog(null))}
        title={dialog === null || dialog === 'form' ? 'Create codes' : `Codes of ${dialog.name}`}
        size="lg"
        closeOnClickOutside={false}
      >
        {dialog === 'form' && <CodeBatchForm onCreated={setDialog} onCancel={close} />}
        {dialog !== null && dialog !== 'form' && <CreatedCodes batch={dialog} onDone={close} />}
      </Modal>
    </>
  );
}

const columns: Column<CodeBatchShape>[] = [
  {
    name: 'name',
    label: 'Batch',
    show: ({ id, name, note }) => <NameLink to={pathOf.codeBatch(id)} name={name} note={note} />,
  },
  moneyColumn('amount', 'Amount', ({ amount }) => amount, { precision: 'exact' }),
  {
    name: 'redeemed',
    label: 'Redeemed',
    align: 'right',
    show: ({ redeemed, count }) => (
      <span className="tabular">{`${formatCount(redeemed)} of ${formatCount(count)}`}</span>
    ),
  },
  statusColumn({ from: 'sm' }),
  timeColumn('expires', 'Expires', ({ expires_at: at }) => at, { from: 'md' }),
  timeColumn('created', 'Created', ({ created_at: at }) => at, { from: 'lg' }),
];
