// Fields, dialogs and menus of the component library that no page needs for its first content. They load after it, or with
// their first use.

import type {
  AutocompleteProps,
  DrawerProps,
  MenuProps,
  ModalProps,
  MultiSelectProps,
  SelectProps,
  TagsInputProps,
} from '@mantine/core';
import { TextInput } from '@mantine/core';
import { type ComponentType, type LazyExoticComponent, lazy, type ReactElement, Suspense, useState } from 'react';
import { loadPage } from '../api.ts';
import { usePreload } from '../preload.ts';
import type { MenuEntry } from './entry-menu.tsx';
import { useOpenLater } from './open-later.ts';

const loadFields = () => import('./later-fields.ts');
const loadDialogs = () => import('./later-dialogs.ts');
const loadMenu = () => import('./entry-menu.tsx');

const LaterSelect = lazy(async () => ({ default: (await loadPage(loadFields)).Select as ComponentType<SelectProps> }));
const LaterMultiSelect = lazy(async () => ({
  default: (await loadPage(loadFields)).MultiSelect as ComponentType<MultiSelectProps>,
}));
const LaterTagsInput = lazy(async () => ({ default: (await loadPage(loadFields)).TagsInput }));
const LaterAutocomplete = lazy(async () => ({ default: (await loadPage(loadFields)).Autocomplete }));
const LaterModal = lazy(async () => ({ default: (await loadPage(loadDialogs)).Modal as ComponentType<ModalProps> }));
const LaterDrawer = lazy(async () => ({ default: (await loadPage(loadDialogs)).Drawer as ComponentType<DrawerProps> }));
const EntryMenu = lazy(async () => ({ default: (await loadPage(loadMenu)).EntryMenu }));

interface LaterProps<Props> {
  of: LazyExoticComponent<ComponentType<Props>>;
  props: Props;
}

export function Select(props: SelectProps) {
  return <Field of={LaterSelect} props={props} />;
}

export function MultiSelect(props: MultiSelectProps) {
  return <Field of={LaterMultiSelect} props={props} />;
}

export function TagsInput(props: TagsInputProps) {
  return <Field of={LaterTagsInput} props={props} />;
}

export function Autocomplete(props: AutocompleteProps) {
  return <Field of={LaterAutocomplete} props={props} />;
}

/** Until it has loaded, a disabled field of the same size. */
function Field<Props extends object>({ of: Later, props }: LaterProps<Props>) {
  const { label, description, placeholder, size, w, mt, mb, flex, maw, miw, withAsterisk, required, ...others } =
    props as SelectProps;
  const sized = { label, description, placeholder, size, w, mt, mb, flex, maw, miw, withAsterisk, required };
  const shown = Object.fromEntries(Object.entries(sized).filter(([, value]) => value !== undefined));
  return (
    <Suspense fallback={<TextInput {...shown} aria-label={others['aria-label']} disabled />}>
      <Loaded of={Later} props={props} />
    </Suspense>
  );
}

/** Takes the focus only if no other field was given it meanwhile. */
function Loaded<Props extends { autoFocus?: boolean }>({ of: Later, props }: LaterProps<Props>) {
  const [isFree] = useState(() => globalThis.document?.activeElement === document.body);
  return <Later {...props} {...(props.autoFocus === true && { autoFocus: isFree })} />;
}

export function Modal(props: ModalProps) {
  return <Opened of={LaterModal} props={props} />;
}

export function Drawer(props: DrawerProps) {
  return <Opened of={LaterDrawer} props={props} />;
}

/** Loads when it opens for the first time. */
function Opened<Props extends { opened: boolean }>({ of: Later, props }: LaterProps<Props>) {
  const [isUsed, setUsed] = useState(props.opened);
  if (props.opened && !isUsed) setUsed(true);
  return (
    isUsed && (
      <Suspense fallback={null}>
        <Opening of={Later} props={props} />
      </Suspense>
    )
  );
}

function Opening<Props extends { opened: boolean }>({ of: Later, props }: LaterProps<Props>) {
  const { isReady } = useOpenLater();
  return <Later {...props} opened={props.opened && isReady} />;
}

interface MenuButtonProps extends Omit<MenuProps, 'children'> {
  entries: readonly MenuEntry[];
  /** Gets what opens the menu. */
  button: (opens: object) => ReactElement;
}

/** A button that opens a menu, which loads when it is used. */
export function MenuButton({ entries, button, ...menu }: MenuButtonProps) {
  const [isUsed, setUsed] = useState(false);
  usePreload(loadMenu);
  const closed = button({ onClick: () => setUsed(true), 'aria-haspopup': 'menu', 'aria-expanded': false });
  if (!isUsed) return closed;
  return (
    <Suspense fallback={closed}>
      <EntryMenu entries={entries} button={button({})} {...menu} />
    </Suspense>
  );
}
