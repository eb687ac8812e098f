// The menu of the signed-in user: theme, times, and sign-out. Loaded with its first use.

import { type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useSignOut } from '../me.tsx';
import { leave } from '../unsaved.ts';
import { Icon, useGoTo } from './link.tsx';
import { useOpenLater } from './open-later.ts';
import { failureText } from './page.tsx';
import { TimesMenu } from './times-menu.tsx';

const themeLabels = { light: 'Light', dark: 'Dark', auto: 'System' };

const looks = ['light', 'dark', 'auto'] as const;

/** Begins open. `children` is the button. */
export function UserMenu({ children }: { children: ReactNode }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const goTo = useGoTo();
  const { isReady, place } = useOpenLater();
  const [isOpen, setOpen] = useState(true);
  const endSession = useSignOut();
  const signOut = async () => {
    const failure = await endSession();
    // The user is still signed in.
    if (failure !== null) notifications.show({ message: failureText(failure), color: 'red', role: 'alert' });
    else await goTo('/');
  };
  return (
    <Menu
      opened={isOpen && isReady}
      onChange={setOpen}
      position="bottom-end"
      width={260}
      withInitialFocusPlaceholder={false}
    >
      <span ref={place} style={{ display: 'contents' }}>
        <Menu.Target>{children}</Menu.Target>
      </span>
      <Menu.Dropdown>
        <Menu.Label>Theme</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={(look) => setColorScheme(look as MantineColorScheme)}>
          {looks.map((look) => (
            <Menu.RadioItem key={look} value={look} closeMenuOnClick={false}>
              {themeLabels[look]}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <TimesMenu />
        <Menu.Divider />
        <Menu.Item component={Link} to="/profile" leftSection={<Icon name="person" />}>
          Account security
        </Menu.Item>
        <Menu.Item onClick={() => leave(() => void signOut())} leftSection={<Icon name="leave" />}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
