// Reviews a change of the catalog before it is saved. Saving plans the change again and asks for another review
// if someone else changed the catalog in the meantime.

import { Alert, Badge, Card, Code, Group, Stack, Table, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { CatalogChangeShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { Modal } from '../../parts/later.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, Hint } from '../../parts/page.tsx';
import { useChange, useGet } from '../../queries.ts';
import { type CatalogDocument, type CatalogEdit, type ChangeLine, linesOfChange } from './changes.ts';

const actionLabels = { create: 'New', update: 'Changed', delete: 'Deleted' };

const kindLabels = {
  provider: 'Provider',
  model: 'Model',
  group: 'Group',
  plan: 'Plan',
  agent_policy: 'Agent policy',
  settings: 'Settings',
};

/** Builds the change from the current document. */
type BuildEdit = (current: CatalogDocument) => CatalogEdit | Promise<CatalogEdit>;

interface Planned {
  build: BuildEdit;
  current: CatalogDocument;
  wanted: CatalogEdit;
  changes: CatalogChangeShape[];
  /** The changes differ from those that the user reviewed. */
  isChanged: boolean;
}

export interface Review {
  /** Plans the change and opens the dialog. */
  preview: (build: BuildEdit) => void;
  isAsking: boolean;
  /** Why planning failed, with the faults of the document. */
  failure: Error | null;
  close: () => void;
  /** Returns the focus to the button that opened the dialog; it was disabled at that time. */
  returnFocus: () => void;
  /** The plan in the open dialog. */
  planned: Planned | null;
  save: () => void;
  isSaving: boolean;
  saveFailure: Error | null;
}

export function useReview({ done, onDone }: { done: string; onDone?: () => void | Promise<void> }): Review {
  const [planned, setPlanned] = useState<Planned | null>(null);
  const pressed = useRef<Element | null>(null);
  const trying = useMutation({ mutationFn: planChange });
  const saving = useChange(
    async (agreed: Planned) => {
      const fresh = await planChange(agreed.build);
      if (JSON.stringify(fresh.changes) !== JSON.stringify(agreed.changes)) return { ...fresh, isChanged: true };
      await call('POST /apply', { body: fresh.wanted });
      return null;
    },
    {
      onDone: async (another) => {
        setPlanned(another);
        if (another !== null) return;
        notifications.show({ message: done, color: 'road' });
        await onDone?.();
      },
    },
  );
  return {
    preview(build) {
      saving.reset();
      pressed.current = document.activeElement;
      trying.mutate(build, {
        onSuccess(found) {
          if (found.changes.length > 0) setPlanned(found);
          else notifications.show({ message: 'No changes to save.', color: 'gray' });
        },
      });
    },
    isAsking: trying.isPending,
    failure: trying.error,
    close: () => setPlanned(null),
    returnFocus: () => pressed.current instanceof HTMLElement && pressed.current.focus(),
    planned,
    save: () => planned !== null && saving.mutate({ ...planned, isChanged: false }),
    isSaving: saving.isPending,
    saveFailure: saving.error,
  };
}

async function planChange(build: BuildEdit): Promise<Planned> {
  const { document: current } = await call('GET /catalogue');
  const wanted = await build(current);
  const { changes } = await call('POST /apply', { body: { ...wanted, dry_run: true } });
  return { build, current, wanted, changes, isChanged: false };
}

export function ReviewDialog({ apply }: { apply: Review }) {
  const { planned, close, returnFocus, save, isSaving, saveFailure } = apply;
  const removes = planned?.changes.some(({ action }) => action === 'delete') ?? false;
  return (
    <Modal opened={planned !== null} onClose={close} onExitTransitionEnd={returnFocus} title="Review changes" size="lg">
      {planned !== null && (
        <Stack>
          <Hint>
            Nothing is saved yet. Changes apply to new requests immediately; running requests are not affected.
          </Hint>
          {planned.isChanged && (
            <Alert color="yellow" role="alert">
              The configuration changed in the meantime. Review the updated changes.
            </Alert>
          )}
          {planned.changes.map((change) => (
            <ChangeCard key={`${change.kind} ${change.name}`} change={change} planned={planned} />
          ))}
          <FailureNotice failure={saveFailure} />
          <Group justify="flex-end">
            <ActionButton label="Cancel" onClick={close} />
            <ActionButton
              label={removes ? 'Delete' : 'Save changes'}
              isPrimary
              onClick={save}
              loading={isSaving}
              data-autofocus
              {...(removes && { color: 'red' })}
            />
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

const colors = { create: 'teal', update: 'blue', delete: 'red' } as const;

function ChangeCard({ change, planned }: { change: CatalogChangeShape; planned: Planned }) {
  const prices = useGet('/prices', { isEnabled: change.kind === 'model' });
  const lines = linesOfChange(change, planned.current, planned.wanted, prices.data?.data);
  return (
    <Card padding="sm">
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Badge color={colors[change.action]} style={{ flex: 'none' }}>
          {actionLabels[change.action]}
        </Badge>
        <Text size="sm" fw={600} className="wrap">
          {kindLabels[change.kind]}
          {change.kind !== 'settings' && ` ${change.name}`}
        </Text>
      </Group>
      {lines.length > 0 && <Lines lines={lines} isCreated={change.action === 'create'} />}
    </Card>
  );
}

function Lines({ lines, isCreated }: { lines: readonly ChangeLine[]; isCreated: boolean }) {
  return (
    <Table mt="xs" fz="sm" verticalSpacing={4} horizontalSpacing="xs" layout="fixed">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Field</Table.Th>
          {!isCreated && <Table.Th>Current</Table.Th>}
          <Table.Th>{isCreated ? 'Value' : 'New'}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {lines.map(({ member, before, after, isSecret, isRemoved }) => (
          <Table.Tr key={member}>
            <Table.Td className="wrap">
              <Code>{member}</Code>
            </Table.Td>
            {!isCreated && <Value text={isSecret ? 'hidden' : before} />}
            <Value text={isSecret && isRemoved !== true ? (isCreated ? 'hidden' : 'new value (hidden)') : after} />
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Value({ text }: { text: string | null }) {
  return (
    <Table.Td className="wrap" {...(text === null && { c: 'dimmed' })}>
      {text ?? 'not set'}
    </Table.Td>
  );
}
