// The button and the shortcut that open the command palette.

import { ActionIcon, Box, Button, Kbd } from '@mantine/core';
import { useOs } from '@mantine/hooks';
import { lazy, Suspense, useEffect, useState } from 'react';
import { loadPage } from '../../api.ts';
import { Icon } from '../../parts/link.tsx';
import { usePreload } from '../../preload.ts';
import { keepTyped, offerSearch } from '../../typed-search.ts';

const loadPalette = async () => (await import('./palette.tsx')).SearchPalette;
const SearchPalette = lazy(async () => ({ default: await loadPage(loadPalette) }));

export function SearchButton() {
  const [isOpen, setOpen] = useState(false);
  const os = useOs();
  const open = () => {
    keepTyped();
    setOpen(true);
  };
  useEffect(() => offerSearch(setOpen), []);
  usePreload(loadPalette);
  return (
    <>
      <Button
        variant="default"
        c="dimmed"
        visibleFrom="sm"
        leftSection={<Icon name="search" />}
        rightSection={<Kbd size="xs">{os === 'macos' || os === 'ios' ? '⌘ K' : 'Ctrl K'}</Kbd>}
        onClick={open}
        aria-keyshortcuts="Control+K Meta+K"
      >
        Search
      </Button>
      <Box hiddenFrom="sm">
        <ActionIcon variant="subtle" color="gray" c="inherit" size="lg" aria-label="Search" onClick={open}>
          <Icon name="search" />
        </ActionIcon>
      </Box>
      {isOpen && (
        <Suspense fallback={null}>
          <SearchPalette onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
