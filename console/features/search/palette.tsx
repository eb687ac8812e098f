// The command palette: finds pages, actions, objects and ids, and goes there. It loads when it is first opened. The field
// keeps the focus, and screen readers follow its active option.

import { Box, Group, Modal, ScrollArea, Text, TextInput, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { countOf } from '../../figures.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { Icon, pathOf, useGoTo } from '../../parts/link.tsx';
import { Hint } from '../../parts/page.tsx';
import { placeOf, useSavedViews } from '../../parts/saved-view-list.ts';
import { useGet } from '../../queries.ts';
import { isAt, isShown, screens } from '../../screens.ts';
import { endSearch, takeTyped } from '../../typed-search.ts';
import { type Entry, idEntries, matchingEntries, pageEntries } from './entries.ts';

const SEARCH_MS = 150;
/** Of each group. */
const SHOWN_MAX = 8;
const LIST_ID = 'search-results';

export function SearchPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [selected, setSelected] = useState<string | null>(null);
  const entries = useEntries(text);
  const [isEntered, setEntered] = useState(false);
  const at = Math.max(
    0,
    entries.findIndex((entry) => keyOf(entry) === selected),
  );
  const shown = entries[at];
  // Entries that arrive later move the selected one, and do not replace it.
  useEffect(() => setSelected(shown === undefined ? null : keyOf(shown)), [shown]);
  const goTo = useGoTo();
  const open = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    void goTo(entry.to, entry.search ?? {});
  };
  const select = (entry: Entry | undefined) => entry !== undefined && setSelected(keyOf(entry));
  // Enter that followed the text before the field had the focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once
  useEffect(() => {
    if (isEntered) open(entries[at]);
  }, [isEntered]);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 } as Readonly<Record<string, number>>;
    const step = steps[event.key];
    if (event.nativeEvent.isComposing || (step === undefined && event.key !== 'Enter')) return;
    event.preventDefault();
    if (step === undefined) open(entries[at]);
    else select(entries[(at + step + entries.length) % entries.length]);
  };
  return (
    <Modal.Root opened onClose={onClose} size={600} yOffset={80} transitionProps={{ duration: 0 }}>
      <Modal.Overlay />
      <Modal.Content aria-label="Search">
        <SearchField
          text={text}
          active={entries.length > 0 ? optionId(at) : undefined}
          onType={(typed) => {
            setText(typed);
            setSelected(null);
          }}
          onEnter={() => setEntered(true)}
          onKeyDown={onKeyDown}
        />
        <VisuallyHidden role="status">{countOf(entries.length, 'result')}</VisuallyHidden>
        <ScrollArea.Autosize
          mah="60vh"
          viewportProps={{ tabIndex: 0 }}
          style={{ borderTop: '1px solid var(--mantine-color-default-border)' }}
        >
          {entries.length === 0 && <Hint p="md">No results</Hint>}
          <Box id={LIST_ID} role="listbox" aria-label="Results" p="xs">
            {entries.map((entry, place) => (
              <Option
                key={keyOf(entry)}
                entry={entry}
                id={optionId(place)}
                isFirst={entry.group !== entries[place - 1]?.group}
                isSelected={place === at}
                onChoose={() => open(entry)}
              />
            ))}
          </Box>
        </ScrollArea.Autosize>
      </Modal.Content>
    </Modal.Root>
  );
}

function keyOf({ group, id }: Entry): string {
  return `${group} ${id}`;
}

interface SearchFieldProps {
  text: string;
  /** The id of the selected option. */
  active: string | undefined;
  onType: (text: string) => void;
  /** Enter followed what was typed before the field had the focus. */
  onEnter: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

function SearchField({ text, active, onType, onEnter, onKeyDown }: SearchFieldProps) {
  useEffect(() => endSearch, []);
  const onFocus = () => {
    const typed = takeTyped();
    if (typed.text !== null) onType(text + typed.text);
    if (typed.isEntered) onEnter();
  };
  return (
    <TextInput
      size="lg"
      variant="unstyled"
      px="xs"
      data-autofocus
      placeholder="Pages, accounts, keys, models, request IDs…"
      leftSection={<Icon name="search" />}
      value={text}
      onFocus={onFocus}
      onChange={({ currentTarget }) => onType(currentTarget.value)}
      onKeyDown={onKeyDown}
      role="combobox"
      aria-label="Search"
      aria-autocomplete="list"
      aria-expanded={active !== undefined}
      aria-controls={LIST_ID}
      aria-activedescendant={active}
    />
  );
}

function optionId(at: number): string {
  return `search-result-${at}`;
}

interface OptionProps {
  entry: Entry;
  id: string;
  /** The first one of its group, which is named above it. */
  isFirst: boolean;
  isSelected: boolean;
  onChoose: () => void;
}

function Option({ entry: { group, label, description, icon }, id, isFirst, isSelected, onChoose }: OptionProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isSelected) place.current?.scrollIntoView({ block: 'nearest' });
  }, [isSelected]);
  return (
    <>
      {isFirst && (
        <Hint size="xs" fw={600} px="xs" pt="xs" role="presentation">
          {group}
        </Hint>
      )}
      {/* The field has the keys: Enter chooses the selected option. */}
      <Group
        ref={place}
        id={id}
        role="option"
        aria-selected={isSelected}
        gap="sm"
        wrap="nowrap"
        px="xs"
        py={6}
        className="search-option"
        onClick={onChoose}
      >
        <Icon name={icon} />
        <Box miw={0}>
          <Text size="sm" truncate>
            {label}
          </Text>
          {description !== undefined && (
            <Hint size="xs" truncate>
              {description}
            </Hint>
          )}
        </Box>
      </Group>
    </>
  );
}

/** All that matches the text, in groups. Without a text, the pages and actions. */
function useEntries(text: string): Entry[] {
  const me = useMe();
  const wanted = text.trim();
  const own = useMemo(
    () =>
      pageEntries(
        screens.filter((screen) => isShown(screen, me)),
        me.role,
      ),
    [me],
  );
  const views = useViewEntries();
  const found = useFoundEntries(wanted);
  if (wanted === '') return [...own, ...views];
  const paymentsPath = seesInstallation(me) ? '/payments' : me.role === 'owner' ? '/billing/payments' : null;
  const groups = Map.groupBy([...own, ...views], ({ group }) => group);
  return [
    ...idEntries(wanted, paymentsPath),
    ...[...groups.values()].flatMap((entries) => matchingEntries(entries, wanted, SHOWN_MAX)),
    ...found,
  ];
}

/** Saved views of the pages that the user sees. */
function useViewEntries(): Entry[] {
  const me = useMe();
  const shown = screens.filter((screen) => isShown(screen, me));
  return useSavedViews(true).flatMap((view): Entry[] => {
    const screen = shown.find(({ path }) => isAt(view.page, path));
    if (screen === undefined) return [];
    const { id, name, page } = view;
    return [
      { id, group: 'Views', label: name, description: screen.nav?.label ?? page, icon: 'layers', ...placeOf(view) },
    ];
  });
}

/** Objects that the service finds. */
function useFoundEntries(wanted: string): Entry[] {
  const [asked] = useDebouncedValue(wanted, SEARCH_MS);
  const { data, isPlaceholderData } = useGet('/search', { query: { text: asked }, isEnabled: asked !== '' });
  if (data === undefined || isPlaceholderData || asked !== wanted) return [];
  return [
    ...data.models.map(({ name, display_name: shown }): Entry => {
      const to = pathOf.model(name);
      return { id: to, group: 'Models', label: name, ...(shown !== name && { description: shown }), icon: 'cube', to };
    }),
    ...data.providers.map(({ name }): Entry => {
      const to = pathOf.provider(name);
      return { id: to, group: 'Providers', label: name, icon: 'plug', to };
    }),
    ...data.groups.map(
      ({ name }): Entry => ({ id: `group ${name}`, group: 'Groups', label: name, icon: 'layers', to: '/groups' }),
    ),
    ...data.accounts.map(({ id, name }): Entry => {
      return { id, group: 'Accounts', label: name, description: id, icon: 'building', to: pathOf.account(id) };
    }),
    ...data.keys.map(({ id, name, prefix }): Entry => {
      return {
        id,
        group: 'API keys',
        label: name || prefix,
        description: `${prefix}… · ${id}`,
        icon: 'key',
        to: pathOf.key(id),
      };
    }),
    ...data.people.map(({ id, name, email }): Entry => {
      return {
        id,
        group: 'Users',
        label: name || email || id,
        description: email ?? id,
        icon: 'person',
        to: '/people',
        search: { person: id },
      };
    }),
  ];
}
