// The frame around every page: navigation by role, user menu, theme, and a notice while the service is unreachable.

import { Alert, Box, Burger, Group, NavLink, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useMatches } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { ApiFailure, isServiceReachable, loadPage, reloadPage } from './api.ts';
import { SearchButton } from './features/search/button.tsx';
import { Logo, SupportLink, useInstallation } from './installation.tsx';
import { MeGate, useMe } from './me.tsx';
import { LeaveGuard } from './parts/leave-guard.tsx';
import { Icon } from './parts/link.tsx';
import { Hint, Loading, MissingPage, PageFailure, PublicFrame, ReadingFrame } from './parts/page.tsx';
import { UserButton } from './parts/user-button.tsx';
import { useGet } from './queries.ts';
import { isShown, type NavSection, type Screen, screens } from './screens.ts';

const sections: Readonly<Record<NavSection, string>> = {
  monitoring: 'Monitoring',
  developers: 'Developers',
  catalog: 'Catalog',
  customers: 'Customers',
  administration: 'Administration',
};

/** Loaded only for those who need it. */
const SignIn = lazy(async () => ({
  default: await loadPage(async () => (await import('./features/sign-in/show.tsx')).SignIn),
}));

const Landing = lazy(async () => ({
  default: await loadPage(async () => (await import('./features/public/landing.tsx')).Landing),
}));

export function Shell() {
  const signIn = (
    <Suspense fallback={<Loading />}>
      <SignedOut />
    </Suspense>
  );
  return (
    <MeGate signIn={signIn}>
      <Frame />
    </MeGate>
  );
}

/** The landing page if the operator has one, where the service is opened. On every other page, the sign-in. */
function SignedOut() {
  const { pathname } = useLocation();
  const { data, error } = useGet('/sign-in');
  if (pathname !== '/' || error !== null) return <SignIn />;
  if (data === undefined) return <Loading />;
  return data.pages.landing ? <Landing /> : <SignIn />;
}

function Frame() {
  const [isOpen, menu] = useDisclosure(false);
  const { pathname } = useLocation();
  const { role } = useMe();
  // biome-ignore lint/correctness/useExhaustiveDependencies: closes the menu on navigation
  useEffect(() => menu.close(), [pathname]);
  const screen = useScreen();
  return (
    <>
      <header className="shell-head no-print">
        <a className="skip-link" href="#content">
          Skip to content
        </a>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Burger
              opened={isOpen}
              onClick={menu.toggle}
              hiddenFrom="md"
              size="sm"
              aria-label={isOpen ? 'Close menu' : 'Open menu'}
            />
            <Link to="/" style={{ textDecoration: 'none', minWidth: 0 }}>
              <Logo />
            </Link>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <SearchButton />
            <UserButton />
          </Group>
        </Group>
      </header>
      <nav className="shell-menu no-print" aria-label="Pages" data-open={isOpen || undefined}>
        {(Object.keys(sections) as NavSection[]).map((section) => (
          <NavLinks key={section} section={section} pathname={pathname} />
        ))}
        <Support />
      </nav>
      <main className="shell-page" id="content" tabIndex={-1}>
        <Box maw={1320} mx="auto">
          <LeaveGuard />
          <UnreachableNotice />
          {screen !== undefined && !screen.roles.includes(role) ? (
            <Text c="dimmed">Your role does not have access to this page.</Text>
          ) : (
            <Suspense fallback={<Loading />}>
              <Outlet />
            </Suspense>
          )}
        </Box>
      </main>
    </>
  );
}

/** The entry of the current page in the table of pages. */
function useScreen(): Screen | undefined {
  const shown = useMatches().at(-1)?.fullPath;
  return screens.find(({ path }) => path === shown || (path !== '/' && shown === `${path}/`));
}

function NavLinks({ section, pathname }: { section: NavSection; pathname: string }) {
  const me = useMe();
  const shown = screens.filter((screen) => screen.nav?.section === section && isShown(screen, me));
  if (shown.length === 0) return null;
  return (
    <Box mb="sm">
      <Hint size="xs" fw={600} px="sm" mb={2}>
        {sections[section]}
      </Hint>
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

function Support() {
  if ((useInstallation()?.support ?? null) === null) return null;
  return (
    <Box px="sm" mb="sm">
      <Hint size="xs" fw={600}>
        Support
      </Hint>
      <SupportLink />
    </Box>
  );
}

const outlet = (
  <Suspense fallback={<Loading />}>
    <Outlet />
  </Suspense>
);

/** The frame of forms before sign-in. */
export function PublicShell() {
  return <PublicFrame>{outlet}</PublicFrame>;
}

export function ReadingShell() {
  return <ReadingFrame>{outlet}</ReadingFrame>;
}

export function NotFoundPage() {
  return (
    <Box p="lg">
      <MissingPage />
    </Box>
  );
}

export function FailedPage({ error, reset }: { error: unknown; reset: () => void }) {
  // Some browsers do not request a failed script again, so the whole page is reloaded.
  const onRetry = error instanceof ApiFailure ? () => void reloadPage() : reset;
  return (
    <Box p="lg">
      <PageFailure failure={error} onRetry={onRetry} />
    </Box>
  );
}

const REFRESH_MS = 3_000;

function UnreachableNotice() {
  const isUnreachable = useIsUnreachable();
  if (!isUnreachable) return null;
  return (
    <Alert color="yellow" icon={<Icon name="warning" />} mb="md" role="status">
      The service is unreachable. The data on this page may be outdated. Retrying every few seconds.
    </Alert>
  );
}

/** Whether the service is unreachable; refetches all data when it recovers. */
function useIsUnreachable(): boolean {
  const queries = useQueryClient();
  const [isUnreachable, setUnreachable] = useState(false);
  useEffect(
    () =>
      queries.getQueryCache().subscribe((event) => {
        if (event.type !== 'updated' || event.action.type !== 'error') return;
        const { error } = event.query.state;
        if (error instanceof ApiFailure && error.code === 'unreachable') setUnreachable(true);
      }),
    [queries],
  );
  useEffect(() => {
    if (!isUnreachable) return;
    const look = setInterval(async () => {
      if (!(await isServiceReachable())) return;
      setUnreachable(false);
      await queries.invalidateQueries();
    }, REFRESH_MS);
    return () => clearInterval(look);
  }, [isUnreachable, queries]);
  return isUnreachable;
}
