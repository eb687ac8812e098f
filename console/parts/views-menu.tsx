// Saved views: the menu beside the filters of a page. It saves their values, the time range and the grouping under a name, and opens,
// shares, renames and deletes what was saved.

import { Checkbox, Group, Menu, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useLocation } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import type { SavedViewShape } from '../../src/admin-api/shapes.ts';
import { call } from '../api.ts';
import { useFilters } from '../filters.ts';
import { fieldFaults } from '../form-faults.ts';
import { seesInstallation, useMe } from '../me.tsx';
import { useChange, useCreate } from '../queries.ts';
import { DEFAULT_RANGE } from '../range.ts';
import { FormActions, FormFailure } from './dialog-button.tsx';
import { ActionButton, Icon, useGoTo } from './link.tsx';
import { FailureNotice, Hint } from './page.tsx';
import { placeOf, useSavedViews } from './saved-view-list.ts';

const FIELDS = ['name'];

export function ViewsMenu() {
  const { pathname } = useLocation();
  const goTo = useGoTo();
  const [isOpen, menu] = useDisclosure(false);
  const [isSaving, saving] = useDisclosure(false);
  const [isEditing, editing] = useDisclosure(false);
  const views = useSavedViews(isOpen || isEditing).filter(({ page }) => page === pathname);
  const own = views.filter(({ is_own: isOwn }) => isOwn);
  const open = (view: SavedViewShape) => {
    const { to, search } = placeOf(view);
    void goTo(to, search);
  };
  return (
    <>
      <Menu opened={isOpen} onChange={menu.toggle} position="bottom-start" width={280} returnFocus={false}>
        <Menu.Target>
          <ActionButton label="Views" icon="layers" size="sm" />
        </Menu.Target>
        <Menu.Dropdown mah="60vh" style={{ overflowY: 'auto' }}>
          {views.map((view) => (
            <Menu.Item key={view.id} onClick={() => open(view)} rightSection={<Sharing view={view} />}>
              <span className="wrap">{view.name}</span>
            </Menu.Item>
          ))}
          {views.length > 0 && <Menu.Divider />}
          <Menu.Item leftSection={<Icon name="plus" />} onClick={saving.open}>
            Save this view
          </Menu.Item>
          {own.length > 0 && (
            <Menu.Item leftSection={<Icon name="pencil" />} onClick={editing.open}>
              Edit views
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <Modal opened={isSaving} onClose={saving.close} title="Save this view">
        <SaveForm page={pathname} onClose={saving.close} />
      </Modal>
      <Modal opened={isEditing} onClose={editing.close} title="Edit views">
        <Stack>
          {own.length === 0 && <Hint>No saved views of this page.</Hint>}
          {own.map((view) => (
            <EditForm key={view.id} view={view} />
          ))}
        </Stack>
      </Modal>
    </>
  );
}

function Sharing({ view: { is_shared: isShared, is_own: isOwn } }: { view: SavedViewShape }) {
  return (
    isShared && (
      <Text span size="xs" c="dimmed">
        {isOwn ? 'Shared' : 'Shared with you'}
      </Text>
    )
  );
}

function useShareLabel(): string {
  return seesInstallation(useMe()) ? 'Share with operators and viewers' : 'Share with users of your account';
}

function SaveForm({ page, onClose }: { page: string; onClose: () => void }) {
  const { values } = useFilters();
  const [name, setName] = useState('');
  const [isShared, setShared] = useState(false);
  const saving = useCreate('POST /views', { done: 'View saved.', onDone: onClose });
  const { show: _, ...kept }: Record<string, string> = { range: DEFAULT_RANGE, ...values };
  const save = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate({ page, name, is_shared: isShared, search: new URLSearchParams(kept).toString() });
  };
  return (
    <form onSubmit={save} noValidate>
      <Stack>
        <Hint>Keeps the filters, the time range, the grouping and the order of this page.</Hint>
        <NameField name={name} setName={setName} failure={saving.error} />
        <Checkbox
          label={useShareLabel()}
          checked={isShared}
          onChange={({ currentTarget }) => setShared(currentTarget.checked)}
        />
        <FormFailure failure={saving.error} fields={FIELDS} />
        <FormActions label="Save" isPending={saving.isPending} isDisabled={name.trim() === ''} onCancel={onClose} />
      </Stack>
    </form>
  );
}

interface NameFieldProps {
  name: string;
  setName: (name: string) => void;
  failure: Error | null;
}

function NameField({ name, setName, failure }: NameFieldProps) {
  return (
    <TextInput
      data-autofocus
      label="Name"
      value={name}
      onChange={({ currentTarget }) => setName(currentTarget.value)}
      error={fieldFaults(failure, FIELDS)?.['name']}
      style={{ flexGrow: 1 }}
    />
  );
}

function EditForm({ view }: { view: SavedViewShape }) {
  const { id } = view;
  const [name, setName] = useState(view.name);
  const changing = useChange(
    (body: Partial<Pick<SavedViewShape, 'name' | 'is_shared'>>) => call('PATCH /views/{id}', { id, body }),
    { done: 'View saved.' },
  );
  const deleting = useChange(() => call('POST /views/{id}/delete', { id, body: {} }), { done: 'View deleted.' });
  const rename = (event: FormEvent) => {
    event.preventDefault();
    changing.mutate({ name });
  };
  return (
    <form onSubmit={rename} noValidate aria-label={view.name}>
      <Stack gap={6}>
        <Group gap="xs" align="flex-end" wrap="nowrap">
          <NameField name={name} setName={setName} failure={changing.error} />
          <ActionButton type="submit" label="Rename" disabled={name.trim() === '' || name === view.name} />
          <ActionButton
            label="Delete"
            color="red"
            loading={deleting.isPending}
            onClick={() => deleting.mutate(undefined)}
          />
        </Group>
        <Checkbox
          label={useShareLabel()}
          checked={view.is_shared}
          disabled={changing.isPending}
          onChange={({ currentTarget }) => changing.mutate({ is_shared: currentTarget.checked })}
        />
        <FormFailure failure={changing.error} fields={FIELDS} />
        <FailureNotice failure={deleting.error} />
      </Stack>
    </form>
  );
}
