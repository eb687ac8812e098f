// A menu of entries, some of which are checked. It loads with its first use, and begins open.

import { Menu, type MenuProps } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { useOpenLater } from './open-later.ts';

export interface MenuEntry {
  name: string;
  label: string;
  onClick: () => void;
  /** undefined: the entry is not checked or unchecked. */
  isChecked?: boolean;
}

interface EntryMenuProps extends Omit<MenuProps, 'children'> {
  entries: readonly MenuEntry[];
  button: ReactElement;
}

export function EntryMenu({ entries, button, ...menu }: EntryMenuProps) {
  const { isReady, place } = useOpenLater();
  const [isOpen, setOpen] = useState(true);
  return (
    <Menu opened={isOpen && isReady} onChange={setOpen} {...menu}>
      <span ref={place} style={{ display: 'contents' }}>
        <Menu.Target>{button}</Menu.Target>
      </span>
      <Menu.Dropdown mah="60vh" style={{ overflowY: 'auto' }}>
        {entries.map(({ name, label, onClick, isChecked }) =>
          isChecked === undefined ? (
            <Menu.Item key={name} onClick={onClick}>
              {label}
            </Menu.Item>
          ) : (
            <Menu.CheckboxItem key={name} checked={isChecked} onChange={onClick}>
              {label}
            </Menu.CheckboxItem>
          ),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
