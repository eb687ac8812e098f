// The button of the user menu, in the head of every page.

import { Button, Stack, Text, VisuallyHidden } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { loadPage } from '../api.ts';
import { roleLabels } from '../labels.ts';
import { useMe } from '../me.tsx';
import { usePreload } from '../preload.ts';
import { Icon } from './link.tsx';
import { Hint } from './page.tsx';

const loadMenu = async () => (await import('./user-menu.tsx')).UserMenu;
const UserMenu = lazy(async () => ({ default: await loadPage(loadMenu) }));

export function UserButton() {
  const me = useMe();
  const [isUsed, setUsed] = useState(false);
  usePreload(loadMenu);
  const closed = { onClick: () => setUsed(true), 'aria-haspopup': 'menu', 'aria-expanded': false } as const;
  const name = me.name || me.email || me.id;
  const button = (
    <Button variant="subtle" color="gray" c="inherit" px="xs" {...(!isUsed && closed)}>
      <VisuallyHidden>User menu</VisuallyHidden>
      <Stack gap={0} align="flex-end" visibleFrom="sm" mr="xs">
        <Text size="sm" fw={600} maw={240} truncate>
          {name}
        </Text>
        <Hint size="xs" maw={240} truncate>
          {me.account === null ? roleLabels[me.role] : `${roleLabels[me.role]} · ${me.account.name}`}
        </Hint>
      </Stack>
      <Icon name="person" />
    </Button>
  );
  if (!isUsed) return button;
  return (
    <Suspense fallback={button}>
      <UserMenu>{button}</UserMenu>
    </Suspense>
  );
}
