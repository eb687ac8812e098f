// Exports: files to download, and those that are sent at regular times.

import type { ExportShape } from '../../../src/admin-api/shapes.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { type Names, useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { type Column, DataTable, NameLink, timeColumn } from '../../parts/data-table.tsx';
import { ButtonLink, pathOf } from '../../parts/link.tsx';
import { EmptyState, Heading, PageHead } from '../../parts/page.tsx';
import { useList } from '../../queries.ts';
import { Download } from './download.tsx';
import { everyLabels, kindLabels, managesExports, nameOfExport, targetOf } from './words.ts';

export function ExportList() {
  const me = useMe();
  const rows = useList('/exports');
  const names = useNames(rows.rows.map((row) => ({ account: row.account, key: null })));
  const create = managesExports(me) && <ButtonLink label="Create export" icon="plus" to="/exports/new" />;
  return (
    <>
      <PageHead title="Exports" text="Usage and costs as files, for spreadsheets and finance tools." actions={create} />
      <Download />
      <Heading mt="lg" mb="xs">
        Scheduled exports
      </Heading>
      <DataTable
        label="Scheduled exports"
        columns={columnsFor(seesInstallation(me), names)}
        rows={rows}
        keyOf={({ id }) => id}
        linkTo={({ id }) => pathOf.export(id)}
        empty={
          <EmptyState
            icon="calendar"
            title="No scheduled exports yet"
            text="Create an export to receive a file for each month or day in object storage, or as a link by email."
            action={create}
          />
        }
      />
    </>
  );
}

function columnsFor(hasAccounts: boolean, names: Names): Column<ExportShape>[] {
  const account: Column<ExportShape> = {
    name: 'account',
    label: 'Account',
    from: 'md',
    show: (row) => (row.account === null ? 'All accounts' : names.account(row.account)),
  };
  return [
    {
      name: 'name',
      label: 'Name',
      show: (row) => <NameLink to={pathOf.export(row.id)} name={nameOfExport(row)} note={targetOf(row)} />,
    },
    { name: 'kind', label: 'Content', from: 'sm', show: ({ kind }) => kindLabels[kind] },
    { name: 'every', label: 'Frequency', from: 'lg', show: ({ every }) => everyLabels[every] },
    ...(hasAccounts ? [account] : []),
    { name: 'status', label: 'Status', show: ({ status }) => <StatusBadge status={status} /> },
    timeColumn('due', 'Next run', (row) => (row.status === 'enabled' ? row.due_at : null), { from: 'md' }),
  ];
}
