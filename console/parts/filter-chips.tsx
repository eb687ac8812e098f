// The filters of a list as chips: a menu adds one, a chip changes or removes it. The address keeps their values.

import {
  CloseButton,
  Combobox,
  Group,
  type MantineSpacing,
  Menu,
  Popover,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
  useCombobox,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useFilters } from '../filters.ts';
import { type FoundBy, foundAccounts, SEARCH_MS, useChoosesAccount } from './fields.tsx';
import { ActionButton, Icon } from './link.tsx';
import { Hint } from './page.tsx';
import { SavedViews } from './saved-views.tsx';

/** Options that are listed at once. */
const SHOWN_MAX = 100;

interface Option {
  value: string;
  label: string;
  note?: string | undefined;
}

/** How a value is chosen. */
type Choice =
  /** One of several options; `offer` makes one of a typed text. */
  | { kind: 'options'; options: readonly Option[]; offer?: (text: string) => Option | null }
  /** An object that the service finds. */
  | { kind: 'found'; found: FoundBy }
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
    <Menu position="bottom-start" returnFocus={false}>
      <Menu.Target>
        <ActionButton label="Add filter" icon="plus" size="sm" />
      </Menu.Target>
      <Menu.Dropdown mah="60vh" style={{ overflowY: 'auto' }}>
        {filters.map(({ name, label }) => (
          <Menu.Item key={name} onClick={() => onAdd(name)}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
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
  const change = (next: string) => {
    onChange(next);
    onOpen(false);
  };
  return (
    <Popover opened={isOpen} onChange={onOpen} position="bottom-start" width={300} trapFocus returnFocus shadow="md">
      <Group gap={0} wrap="nowrap" className="filter-chip">
        <Popover.Target>
          <UnstyledButton className="filter-chip-value" onClick={() => onOpen(!isOpen)} fz="sm">
            <Text span inherit c="dimmed">{`${label}: `}</Text>
            {value === '' ? '…' : <ShownValue filter={filter} value={value} />}
          </UnstyledButton>
        </Popover.Target>
        {value !== '' && <CloseButton size="sm" aria-label={`Remove filter: ${label}`} onClick={() => onChange('')} />}
      </Group>
      <Popover.Dropdown>
        <Editor filter={filter} value={value} onChange={change} />
      </Popover.Dropdown>
    </Popover>
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

interface EditorProps<Kind extends Choice['kind'] = Choice['kind']> {
  filter: Extract<ListFilter, { kind: Kind }>;
  value: string;
  onChange: (value: string) => void;
}

function Editor({ filter, ...editor }: EditorProps) {
  if (filter.kind === 'options') return <OptionsEditor filter={filter} {...editor} />;
  if (filter.kind === 'found') return <FoundEditor filter={filter} {...editor} />;
  return <TextEditor filter={filter} {...editor} />;
}

function OptionsEditor({ filter, value, onChange }: EditorProps<'options'>) {
  const { label, options, offer } = filter;
  const [search, setSearch] = useState('');
  const text = search.trim();
  const matching = options.filter((option) => option.label.toLowerCase().includes(text.toLowerCase()));
  const offered = text === '' || options.some((option) => option.value === text) ? null : (offer?.(text) ?? null);
  const shown = offered === null ? matching : [...matching, offered];
  return <OptionList {...{ label, value, onChange, search }} options={shown} isLoading={false} onSearch={setSearch} />;
}

function FoundEditor({ filter, value, onChange }: EditorProps<'found'>) {
  const { label, found } = filter;
  const [search, setSearch] = useState('');
  const [asked] = useDebouncedValue(search.trim(), SEARCH_MS);
  const { options, isCurrent } = found.useFound(asked);
  const isLoading = !isCurrent || asked !== search.trim();
  const list = { label, value, onChange, search, isLoading, onSearch: setSearch };
  return <OptionList {...list} options={isLoading ? [] : options} />;
}

interface OptionListProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: readonly Option[];
  isLoading: boolean;
  search: string;
  onSearch: (text: string) => void;
}

/** A search field above options, of which the arrow keys select one. */
function OptionList({ label, value, onChange, options, isLoading, search, onSearch }: OptionListProps) {
  const combobox = useCombobox({ opened: true });
  const type = (text: string) => {
    onSearch(text);
    combobox.resetSelectedOption();
  };
  return (
    <Combobox store={combobox} onOptionSubmit={onChange}>
      <Combobox.EventsTarget>
        <TextInput
          data-autofocus
          role="combobox"
          label={label}
          leftSection={<Icon name="search" />}
          value={search}
          onChange={({ currentTarget }) => type(currentTarget.value)}
        />
      </Combobox.EventsTarget>
      <Combobox.Options mah={260} mt="xs" style={{ overflowY: 'auto' }} aria-label={label}>
        {options.slice(0, SHOWN_MAX).map((option) => (
          <Combobox.Option key={option.value} value={option.value} active={option.value === value}>
            <Stack gap={0}>
              <span className="wrap">{option.label}</span>
              {option.note !== undefined && <Hint size="xs">{option.note}</Hint>}
            </Stack>
          </Combobox.Option>
        ))}
        {options.length === 0 && <Combobox.Empty>{isLoading ? 'Loading…' : 'Nothing found'}</Combobox.Empty>}
      </Combobox.Options>
    </Combobox>
  );
}

function TextEditor({ filter, value, onChange }: EditorProps<'text'>) {
  const { label, placeholder, inputMode, faultOf, onApply } = filter;
  const [text, setText] = useState(value);
  const [fault, setFault] = useState<string | null>(null);
  const apply = (event: FormEvent) => {
    event.preventDefault();
    const wanted = text.trim();
    const found = wanted === '' ? null : (faultOf?.(wanted) ?? null);
    setFault(found);
    if (found === null) (onApply ?? onChange)(wanted);
  };
  return (
    <form onSubmit={apply}>
      <Stack gap="xs">
        <TextInput
          data-autofocus
          label={label}
          placeholder={placeholder}
          inputMode={inputMode}
          value={text}
          error={fault}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <ActionButton type="submit" label="Apply" isPrimary size="xs" />
      </Stack>
    </form>
  );
}

/** For those who see several accounts. A key belongs to one account, so another account clears it. */
export function useAccountFilter(): ListFilter[] {
  const write = (account: string) => ({ account, key: null });
  return useChoosesAccount() ? [{ kind: 'found', name: 'account', label: 'Account', write, found: foundAccounts }] : [];
}
