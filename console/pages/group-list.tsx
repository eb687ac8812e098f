// Groups: which models are sold to whom, at which factor, within which limits. Operators change them here; holders see
// what their account is in.

import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { AccountShape, GroupShape, ModelShape, PageShape } from '../../src/admin-api/shapes.ts';
import { formatCount } from '../figures.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { ApplyDialogue, useApply } from '../parts/apply-dialogue.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { TextLink } from '../parts/text-link.tsx';
import { useAsk, usePages } from '../queries.ts';
import { words } from '../words.ts';
import { GroupForm } from './catalogue/group-form.tsx';

const CATALOGUE_ROWS = { limit: 1000 };

export function GroupList() {
  const me = useMe();
  const isInstallation = isOfInstallation(me);
  const groups = usePages<GroupShape>('/groups', CATALOGUE_ROWS);
  const models = usePages<ModelShape>('/models', CATALOGUE_ROWS);
  const accounts = useAsk<PageShape<AccountShape>>('/accounts', CATALOGUE_ROWS, { isWanted: isInstallation });
  const [edited, setEdited] = useState<GroupShape | 'new' | null>(null);
  const removing = useApply({ done: words.groups.removed });
  const columns = [
    nameColumn,
    modelsColumn(models.rows),
    multiplierColumn,
    limitsColumn,
    ...(isInstallation ? [accountsColumn(accounts.data)] : []),
    ...(me.role === 'operator'
      ? [
          actionsColumn(setEdited, ({ name }) =>
            removing.preview(() => ({ document: {}, remove: [{ kind: 'group', name }] })),
          ),
        ]
      : []),
  ];
  const add = (
    <Button leftSection={<Icon name="plus" />} onClick={() => setEdited('new')}>
      {words.groups.add}
    </Button>
  );
  return (
    <>
      <PageHead
        title={words.groups.title}
        text={isInstallation ? words.groups.text : words.groups.textHolder}
        actions={me.role === 'operator' && add}
      />
      <Stack>
        <FailureNotice failure={removing.failure} />
        <DataTable
          label={words.groups.label}
          rows={groups}
          columns={columns}
          keyOf={({ name }) => name}
          empty={
            <EmptyState
              icon="layers"
              title={words.groups.empty}
              text={words.groups.emptyText}
              action={me.role === 'operator' && add}
            />
          }
        />
      </Stack>
      <ApplyDialogue apply={removing} />
      <EditModal edited={edited} models={models.rows} onDone={() => setEdited(null)} />
    </>
  );
}

interface EditModalProps {
  edited: GroupShape | 'new' | null;
  models: readonly ModelShape[];
  onDone: () => void;
}

function EditModal({ edited, models, onDone }: EditModalProps) {
  return (
    <Modal
      opened={edited !== null}
      onClose={onDone}
      size="lg"
      title={edited === null || edited === 'new' ? words.groups.createTitle : words.groups.editTitle(edited.name)}
      closeButtonProps={{ 'aria-label': words.parts.close }}
    >
      {edited !== null && (
        <GroupForm
          group={edited === 'new' ? null : edited}
          modelNames={models.map(({ name }) => name)}
          onDone={onDone}
        />
      )}
    </Modal>
  );
}

const nameColumn: Column<GroupShape> = {
  name: 'name',
  label: words.groups.columns.name,
  show: ({ name }) => (
    <Text size="sm" fw={600} style={{ overflowWrap: 'break-word' }}>
      {name}
    </Text>
  ),
};

function modelsColumn(models: readonly ModelShape[]): Column<GroupShape> {
  return {
    name: 'models',
    label: words.groups.columns.models,
    show: ({ name, models: patterns }) => (
      <Stack gap={0}>
        <TextLink to="/models" search={{ group: name }} size="sm">
          {words.groups.sells(models.filter((model) => model.groups.includes(name)).length)}
        </TextLink>
        <Text size="xs" c="dimmed" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
          {patterns.join(', ')}
        </Text>
      </Stack>
    ),
  };
}

const multiplierColumn: Column<GroupShape> = {
  name: 'multiplier',
  label: words.groups.columns.multiplier,
  align: 'right',
  from: 'sm',
  show: ({ multiplier }) => <span className="tabular">{`× ${multiplier}`}</span>,
};

const limitsColumn: Column<GroupShape> = {
  name: 'limits',
  label: words.groups.columns.limits,
  from: 'md',
  show: (group) => {
    const limits = [
      group.rpm === null ? null : words.groups.rpm(formatCount(group.rpm)),
      group.input_tpm === null ? null : words.groups.inputTpm(formatCount(group.input_tpm)),
      group.output_tpm === null ? null : words.groups.outputTpm(formatCount(group.output_tpm)),
      group.concurrency === null ? null : words.groups.concurrency(formatCount(group.concurrency)),
    ].filter((limit) => limit !== null);
    return (
      <Text size="sm" {...(limits.length === 0 && { c: 'dimmed' })}>
        {limits.length === 0 ? words.groups.noLimits : limits.join(' · ')}
      </Text>
    );
  },
};

/** Counted among the first thousand accounts; where there are more, it is said that there may be. */
function accountsColumn(accounts: PageShape<AccountShape> | undefined): Column<GroupShape> {
  return {
    name: 'accounts',
    label: words.groups.columns.accounts,
    align: 'right',
    from: 'sm',
    show: ({ name }) => {
      if (accounts === undefined) return null;
      const count = accounts.data.filter(({ groups }) => groups.includes(name)).length;
      return (
        <TextLink to="/accounts" search={{ group: name }} size="sm" className="tabular">
          {accounts.next_cursor === null ? formatCount(count) : words.groups.atLeast(count)}
        </TextLink>
      );
    },
  };
}

function actionsColumn(onEdit: (group: GroupShape) => void, onRemove: (group: GroupShape) => void): Column<GroupShape> {
  return {
    name: 'actions',
    label: '',
    align: 'right',
    show: (group) => (
      <Group gap={6} justify="flex-end" wrap="nowrap">
        <Button
          size="xs"
          variant="default"
          onClick={() => onEdit(group)}
          aria-label={words.groups.edit(group.name)}
          px={8}
        >
          <Icon name="pencil" sizePx={16} />
        </Button>
        <Button
          size="xs"
          variant="default"
          onClick={() => onRemove(group)}
          aria-label={words.groups.remove(group.name)}
          px={8}
        >
          <Icon name="trash" sizePx={16} />
        </Button>
      </Group>
    ),
  };
}
