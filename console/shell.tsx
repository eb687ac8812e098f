// The frame around every page: navigation by role, who is signed in, light and dark. Shows the sign-in where nobody is.

import {
  AppShell,
  Box,
  Burger,
  Button,
  Group,
  type MantineColorScheme,
  Menu,
  NavLink,
  ScrollArea,
  Stack,
  Text,
  useMantineColorScheme,
  VisuallyHidden,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { Link, Outlet, useLocation, useMatches, useNavigate } from '@tanstack/react-router';
import { Suspense, useEffect } from 'react';
import { ApiFailure, askSignIn } from './api.ts';
import { reloadPage } from './load-page.ts';
import { MeGate, useForgetEverything, useMe } from './me.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { AwayNotice } from './parts/away-notice.tsx';
import { wordsOfFailure } from './parts/failure-notice.tsx';
import { Icon } from './parts/icon.tsx';
import { Mark } from './parts/mark.tsx';
import { OpenFrame } from './parts/open-frame.tsx';
import { MissingPage, PageFailure } from './parts/page-failure.tsx';
import { Waiting } from './parts/waiting.tsx';
import { type NavSection, type Screen, screens } from './screens.ts';
import { words } from './words.ts';

const sections: readonly NavSection[] = ['traffic', 'build', 'selling', 'people', 'installation'];

const looks = ['light', 'dark', 'auto'] as const;

export function Shell() {
  return (
    <MeGate signIn={<SignIn />}>
      <Frame />
    </MeGate>
  );
}

function Frame() {
  const [isOpen, menu] = useDisclosure(false);
  const { pathname } = useLocation();
  const { role } = useMe();
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a phone the menu closes when one goes elsewhere
  useEffect(() => menu.close(), [pathname]);
  const screen = useScreen();
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'md', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'lg' }}
    >
      <AppShell.Header className="no-print">
        <a className="skip-link" href="#content">
          {words.skipToContent}
        </a>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={menu.toggle}
              hiddenFrom="md"
              size="sm"
              aria-label={isOpen ? words.nav.close : words.nav.open}
            />
            <Link to="/" style={{ textDecoration: 'none' }}>
              <Mark />
            </Link>
          </Group>
          <OwnMenu />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" className="no-print" aria-label={words.nav.label} mod={{ open: isOpen }}>
        <ScrollArea type="scroll">
          {sections.map((section) => (
            <NavPart key={section} section={section} pathname={pathname} />
          ))}
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Box maw={1320} mx="auto">
          <AwayNotice />
          {screen !== undefined && !screen.roles.includes(role) ? (
            <Text c="dimmed">{words.failure.notAllowed}</Text>
          ) : (
            <Suspense fallback={<Waiting />}>
              <Outlet />
            </Suspense>
          )}
        </Box>
      </AppShell.Main>
    </AppShell>
  );
}

/** The row of the table for the page that is shown. */
function useScreen(): Screen | undefined {
  const shown = useMatches().at(-1)?.fullPath;
  return screens.find(({ path }) => path === shown || (path !== '/' && shown === `${path}/`));
}

function NavPart({ section, pathname }: { section: NavSection; pathname: string }) {
  const { role } = useMe();
  const shown = screens.filter((screen) => screen.nav?.section === section && screen.roles.includes(role));
  if (shown.length === 0) return null;
  return (
    <Box mb="sm">
      <Text size="xs" fw={600} c="dimmed" px="sm" mb={2}>
        {words.nav[section]}
      </Text>
      {shown.map(({ path, nav }) => (
        <NavLink
          key={path}
          component={Link}
          to={path}
          label={nav?.label}
          leftSection={nav && <Icon name={nav.icon} />}
          active={path === '/' ? pathname === '/' : pathname === path || pathname.startsWith(`${path}/`)}
          py={6}
          style={{ borderRadius: 'var(--mantine-radius-md)' }}
        />
      ))}
    </Box>
  );
}

function OwnMenu() {
  const me = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const navigate = useNavigate();
  const forgetEverything = useForgetEverything();
  const signOut = async () => {
    try {
      await askSignIn('/sign-out', { body: {} });
    } catch (failure) {
      notifications.show({ message: wordsOfFailure(failure), color: 'red', role: 'alert' }); // they are still signed in
      return;
    }
    await forgetEverything();
    await navigate({ to: '/' });
  };
  const name = me.name || me.email || me.id;
  return (
    <Menu position="bottom-end" width={260} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button variant="subtle" color="gray" c="inherit" px="xs">
          <VisuallyHidden>{words.shell.menu}</VisuallyHidden>
          <Stack gap={0} align="flex-end" visibleFrom="sm" mr="xs">
            <Text size="sm" fw={600} maw={240} truncate>
              {name}
            </Text>
            <Text size="xs" c="dimmed" maw={240} truncate>
              {me.account === null ? words.roles[me.role] : `${words.roles[me.role]} · ${me.account.name}`}
            </Text>
          </Stack>
          <Icon name="person" />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{words.shell.theme}</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={(look) => setColorScheme(look as MantineColorScheme)}>
          {looks.map((look) => (
            <Menu.RadioItem key={look} value={look} closeMenuOnClick={false}>
              {words.shell.looks[look]}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item component={Link} to="/profile" leftSection={<Icon name="person" />}>
          {words.nav.profile}
        </Menu.Item>
        <Menu.Item onClick={() => void signOut()} leftSection={<Icon name="leave" />}>
          {words.shell.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Around the pages for whoever is not signed in. */
export function OpenShell() {
  return (
    <OpenFrame>
      <Suspense fallback={<Waiting />}>
        <Outlet />
      </Suspense>
    </OpenFrame>
  );
}

export function LostPage() {
  return (
    <Box p="lg">
      <MissingPage />
    </Box>
  );
}

export function FailedPage({ error, reset }: { error: unknown; reset: () => void }) {
  // What its script was asked for is asked for anew with the whole page: not every browser asks for the same script again.
  const onRetry = error instanceof ApiFailure ? () => void reloadPage() : reset;
  return (
    <Box p="lg">
      <PageFailure failure={error} onRetry={onRetry} />
    </Box>
  );
}
