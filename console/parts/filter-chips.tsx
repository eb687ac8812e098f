// The filters of a list as chips: a menu adds one, a chip changes or removes it. The address keeps their values.

import { CloseButton, Group, type MantineSpacing, Text, UnstyledButton } from '@mantine/core';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { loadPage } from '../api.ts';
import { useFilters } from '../filters.ts';
import { usePreload } from '../preload.ts';
import { useChoosesAccount } from './fields.tsx';
import { type FoundBy, foundAccounts } from './found.ts';
import { MenuButton } from './later.tsx';
import { ActionButton } from './link.tsx';
import { SavedViews } from './saved-views.tsx';

/** Loads with the first filter that is changed. */
const loadEditor = async () => (await import('./filter-editor.tsx')).FilterEditor;
const FilterEditor = lazy(async () => ({ default: await loadPage(loadEditor) }));

export interface Option {
  value: string;
  label: string;
  note?: string | undefined;
}

/** Makes an option of a typed text. */
export type Offer = (text: string) => Option | null;

/** How a value is chosen. */
export type Choice =
  /** One of several options that are always the same. */
  | { kind: 'options'; options: readonly Option[]; offer?: Offer }
  /** An object that the service finds. */
  | { kind: 'found'; found: FoundBy; offer?: Offer }
  /** A typed text. `onApply` is used in place of the address. */
  | {
      kind: 'text';
      placeholder?: string;
      inputMode?: 'decimal';
      faultOf?: (text: string) => string | null;
      onApply?: (text: string) => void;
    };

export type ListFilter = Choice & {
  /** The parameter of the address. */
  name: string;
  label: string;
  /** Reads the value; by default that of its parameter. */
  read?: (values: Readonly<Record<string, string>>) => string;
  /** The parameters that a value sets; by default its own. */
  write?: (value: string) => Record<string, string | null>;
};

interface FilterChipsProps {
  filters: readonly ListFilter[];
  /** Fields before the chips, such as the time range. */
  children?: ReactNode;
  mb?: MantineSpacing | number;
}

export function FilterChips({ filters, children, mb = 'md' }: FilterChipsProps) {
  const { values, set } = useFilters();
  const [open, setOpen] = useState<string | null>(null);
  usePreload(loadEditor);
  const shownValueOf = ({ name, read = (all) => all[name] ?? '' }: ListFilter) => read(values);
  const write = ({ name, write: changesOf = (value) => ({ [name]: value }) }: ListFilter, value: string) =>
    set(changesOf(value));
  const active = filters.filter((filter) => shownValueOf(filter) !== '');
  const shown = filters.filter((filter) => active.includes(filter) || filter.name === open);
  const offered = filters.filter((filter) => !shown.includes(filter));
  const clear = () => set(Object.assign({}, ...active.map((filter) => emptied(filter))));
  return (
    <Group mb={mb} gap="xs" align="flex-end" className="no-print" role="search" aria-label="Filters">
      {children}
      {shown.map((filter) => (
        <FilterChip
          key={filter.name}
          filter={filter}
          value={shownValueOf(filter)}
          isOpen={open === filter.name}
          onOpen={(isOpen) => setOpen(isOpen ? filter.name : null)}
          onChange={(value) => write(filter, value)}
        />
      ))}
      {offered.length > 0 && <AddFilter filters={offered} onAdd={setOpen} />}
      <SavedViews />
      {active.length > 0 && <ActionButton label="Clear filters" variant="subtle" size="sm" onClick={clear} />}
    </Group>
  );
}

function emptied({ name, write = () => ({ [name]: null }) }: ListFilter): Record<string, null> {
  return Object.fromEntries(Object.keys(write('')).map((one) => [one, null]));
}

interface AddFilterProps {
  filters: readonly ListFilter[];
  onAdd: (name: string) => void;
}

function AddFilter({ filters, onAdd }: AddFilterProps) {
  return (
    <MenuButton
      position="bottom-start"
      returnFocus={false}
      entries={filters.map(({ name, label }) => ({ name, label, onClick: () => onAdd(name) }))}
      button={(opens) => <ActionButton label="Add filter" icon="plus" size="sm" {...opens} />}
    />
  );
}

interface FilterChipProps {
  filter: ListFilter;
  value: string;
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
  onChange: (value: string) => void;
}

function FilterChip({ filter, value, isOpen, onOpen, onChange }: FilterChipProps) {
  const { label } = filter;
  const [isUsed, setUsed] = useState(isOpen);
  if (isOpen && !isUsed) setUsed(true);
  const change = (next: string) => {
    onChange(next);
    onOpen(false);
  };
  const shown = (
    <UnstyledButton className="filter-chip-value" onClick={() => onOpen(!isOpen)} fz="sm">
      <Text span inherit c="dimmed">{`${label}: `}</Text>
      {value === '' ? '…' : <ShownValue filter={filter} value={value} />}
    </UnstyledButton>
  );
  return (
    <Group gap={0} wrap="nowrap" className="filter-chip">
      {isUsed ? (
        <Suspense fallback={shown}>
          <FilterEditor {...{ filter, value, isOpen, onOpen }} onChange={change}>
            {shown}
          </FilterEditor>
        </Suspense>
      ) : (
        shown
      )}
      {value !== '' && <CloseButton size="sm" aria-label={`Remove filter: ${label}`} onClick={() => onChange('')} />}
    </Group>
  );
}

function ShownValue({ filter, value }: { filter: ListFilter; value: string }) {
  if (filter.kind === 'found') return <FoundName found={filter.found} id={value} />;
  if (filter.kind !== 'options') return value;
  return filter.options.find((option) => option.value === value)?.label ?? value;
}

function FoundName({ found, id }: { found: FoundBy; id: string }) {
  return found.useNameOf(id) ?? id;
}

/** For those who see several accounts. A key belongs to one account, so another account clears it. */
export function useAccountFilter(): ListFilter[] {
  const write = (account: string) => ({ account, key: null });
  return useChoosesAccount() ? [{ kind: 'found', name: 'account', label: 'Account', write, found: foundAccounts }] : [];
}
