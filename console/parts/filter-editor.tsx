// The editor of a filter's value, below its chip.

import { Combobox, Popover, Stack, TextInput, useCombobox } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type FormEvent, type ReactElement, useState } from 'react';
import type { Choice, ListFilter, Offer, Option } from './filter-chips.tsx';
import { SEARCH_MS } from './found.ts';
import { ActionButton, Icon } from './link.tsx';
import { useOpenLater } from './open-later.ts';
import { Hint } from './page.tsx';

/** Options that are listed at once. */
const SHOWN_MAX = 100;

interface FilterEditorProps extends EditorProps {
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
  /** The button that opens it. */
  children: ReactElement;
}

export function FilterEditor({ isOpen, onOpen, children, ...editor }: FilterEditorProps) {
  const { isReady, place } = useOpenLater();
  return (
    <Popover
      opened={isOpen && isReady}
      onChange={onOpen}
      position="bottom-start"
      width={300}
      trapFocus
      returnFocus
      shadow="md"
    >
      <span ref={place} style={{ display: 'contents' }}>
        <Popover.Target>{children}</Popover.Target>
      </span>
      <Popover.Dropdown>
        <Editor {...editor} />
      </Popover.Dropdown>
    </Popover>
  );
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
  const shown = [...matching, ...offered(options, text, offer)];
  return <OptionList {...{ label, value, onChange, search }} options={shown} isLoading={false} onSearch={setSearch} />;
}

/** What a typed text makes, unless one of the options has it. */
function offered(options: readonly Option[], text: string, offer: Offer | undefined): Option[] {
  if (text === '' || options.some((option) => option.value === text)) return [];
  return [offer?.(text) ?? []].flat();
}

function FoundEditor({ filter, value, onChange }: EditorProps<'found'>) {
  const { label, found, offer } = filter;
  const [search, setSearch] = useState('');
  const [asked] = useDebouncedValue(search.trim(), SEARCH_MS);
  const { options, isCurrent } = found.useFound(asked);
  const isLoading = !isCurrent || asked !== search.trim();
  const list = { label, value, onChange, search, isLoading, onSearch: setSearch };
  return <OptionList {...list} options={isLoading ? [] : [...options, ...offered(options, asked, offer)]} />;
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
