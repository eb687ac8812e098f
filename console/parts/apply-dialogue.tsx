// "What will change": every change of the catalogue is tried first, and shown before it is made. What is shown was made
// of what stands at that moment, and is made of it once more when it is saved: nobody's change is taken back unseen.

import { Alert, Badge, Button, Card, Code, Group, Modal, Stack, Table, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { CatalogChangeShape, CatalogueShape, ListedModelShape } from '../../src/admin-api/shapes.ts';
import { ask } from '../api.ts';
import { type ChangeLine, linesOfChange, type Standing, type Wanted } from '../catalogue-changes.ts';
import { useAsk, useChange } from '../queries.ts';
import { words } from '../words.ts';
import { FailureNotice } from './failure-notice.tsx';

/** What is wanted, of what stands. */
export type Make = (standing: Standing) => Wanted;

interface Planned {
  make: Make;
  standing: Standing;
  wanted: Wanted;
  changes: CatalogChangeShape[];
  /** It is another plan than the one that was agreed to: something changed meanwhile. */
  isNew: boolean;
}

export interface Applying {
  /** Tries it, and shows what would change. */
  preview: (make: Make) => void;
  isAsking: boolean;
  /** Why it cannot be: with the faults of the document. */
  failure: Error | null;
  forget: () => void;
  /** To what was pressed: it was waiting, and without the focus, when the dialogue opened. */
  returnFocus: () => void;
  /** For the dialogue. */
  planned: Planned | null;
  save: () => void;
  isSaving: boolean;
  saveFailure: Error | null;
}

export function useApply({ done, onDone }: { done: string; onDone?: () => void | Promise<void> }): Applying {
  const [planned, setPlanned] = useState<Planned | null>(null);
  const pressed = useRef<Element | null>(null);
  const trying = useMutation({ mutationFn: planChange });
  const saving = useChange(
    async (agreed: Planned) => {
      const fresh = await planChange(agreed.make);
      if (JSON.stringify(fresh.changes) !== JSON.stringify(agreed.changes)) return { ...fresh, isNew: true };
      await ask('/apply', { body: fresh.wanted });
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
    preview(make) {
      saving.reset();
      pressed.current = document.activeElement;
      trying.mutate(make, {
        onSuccess(found) {
          if (found.changes.length > 0) setPlanned(found);
          else notifications.show({ message: words.apply.nothing, color: 'gray' });
        },
      });
    },
    isAsking: trying.isPending,
    failure: trying.error,
    forget: () => setPlanned(null),
    returnFocus: () => pressed.current instanceof HTMLElement && pressed.current.focus(),
    planned,
    save: () => planned !== null && saving.mutate({ ...planned, isNew: false }),
    isSaving: saving.isPending,
    saveFailure: saving.error,
  };
}

async function planChange(make: Make): Promise<Planned> {
  const { document: standing } = await ask<CatalogueShape>('/catalogue');
  const wanted = make(standing);
  const { changes } = await ask<{ changes: CatalogChangeShape[] }>('/apply', { body: { ...wanted, dry_run: true } });
  return { make, standing, wanted, changes, isNew: false };
}

export function ApplyDialogue({ apply }: { apply: Applying }) {
  const { planned, forget, returnFocus, save, isSaving, saveFailure } = apply;
  const removes = planned?.changes.some(({ action }) => action === 'delete') ?? false;
  return (
    <Modal
      opened={planned !== null}
      onClose={forget}
      onExitTransitionEnd={returnFocus}
      title={words.apply.title}
      size="lg"
      closeButtonProps={{ 'aria-label': words.parts.close }}
    >
      {planned !== null && (
        <Stack>
          <Text size="sm" c="dimmed">
            {words.apply.text}
          </Text>
          {planned.isNew && (
            <Alert color="yellow" role="alert">
              {words.apply.isNew}
            </Alert>
          )}
          {planned.changes.map((change) => (
            <ChangeCard key={`${change.kind} ${change.name}`} change={change} planned={planned} />
          ))}
          <FailureNotice failure={saveFailure} />
          <Group justify="flex-end">
            <Button variant="default" onClick={forget}>
              {words.parts.cancel}
            </Button>
            <Button onClick={save} loading={isSaving} data-autofocus {...(removes && { color: 'red' })}>
              {removes ? words.apply.remove : words.apply.save}
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

const colors = { create: 'teal', update: 'blue', delete: 'red' } as const;

function ChangeCard({ change, planned }: { change: CatalogChangeShape; planned: Planned }) {
  const prices = useAsk<{ data: ListedModelShape[] }>('/prices', {}, { isWanted: change.kind === 'model' });
  const lines = linesOfChange(change, planned.standing, planned.wanted, prices.data?.data);
  return (
    <Card withBorder padding="sm">
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <Badge variant="light" color={colors[change.action]} tt="none" style={{ flex: 'none' }}>
          {words.apply.actions[change.action]}
        </Badge>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {words.apply.kinds[change.kind]}
          {change.kind !== 'settings' && ` ${change.name}`}
        </Text>
      </Group>
      {lines.length > 0 && <Lines lines={lines} isNew={change.action === 'create'} />}
    </Card>
  );
}

function Lines({ lines, isNew }: { lines: readonly ChangeLine[]; isNew: boolean }) {
  return (
    <Table mt="xs" fz="sm" verticalSpacing={4} horizontalSpacing="xs" layout="fixed">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{words.apply.member}</Table.Th>
          {!isNew && <Table.Th>{words.apply.before}</Table.Th>}
          <Table.Th>{isNew ? words.apply.value : words.apply.after}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {lines.map(({ member, before, after, isSecret }) => (
          <Table.Tr key={member}>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              <Code>{member}</Code>
            </Table.Td>
            {!isNew && <Value text={isSecret ? words.apply.hidden : before} />}
            <Value text={isSecret ? (isNew ? words.apply.hidden : words.apply.another) : after} />
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Value({ text }: { text: string | null }) {
  return (
    <Table.Td style={{ overflowWrap: 'anywhere' }} {...(text === null && { c: 'dimmed' })}>
      {text ?? words.apply.nothingThere}
    </Table.Td>
  );
}
