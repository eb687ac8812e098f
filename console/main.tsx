// The entry point in the browser: theme, router and queries.

import { createTheme, DEFAULT_THEME, type MantineColorsTuple, MantineProvider } from '@mantine/core';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  RouterProvider,
  retainSearchParams,
} from '@tanstack/react-router';
import { lazy, StrictMode, Suspense, useLayoutEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiFailure, loadPage } from './api.ts';
import { isSignInNeeded } from './me.tsx';
import { publicScreens, readingScreens, type Screen, screens } from './screens.ts';
import { FailedPage, NotFoundPage, PublicShell, ReadingShell, Shell } from './shell.tsx';

const road: MantineColorsTuple = [
  '#e6fbf9',
  '#d3f2ef',
  '#a8e4de',
  '#78d5cd',
  '#52c9be',
  '#3ac2b5',
  '#149187',
  '#0b7a75',
  '#086763',
  '#03514e',
];

const { teal, red, yellow, orange } = DEFAULT_THEME.colors;

/** The library colors, darkened where text in or on them would have too little contrast. */
const readable = {
  teal: [...teal.slice(0, 9), '#066649'] as unknown as MantineColorsTuple,
  red: [...red.slice(0, 7), '#cf2d2d', '#bd2727', '#a92222'] as unknown as MantineColorsTuple,
  yellow: [...yellow.slice(0, 9), '#8a4a00'] as unknown as MantineColorsTuple,
  orange: [...orange.slice(0, 9), '#a03508'] as unknown as MantineColorsTuple,
};

const closeButtonProps = { 'aria-label': 'Close' };

const theme = createTheme({
  primaryColor: 'road',
  primaryShade: 7, // the lightest shade with enough contrast for white text, also in dark mode
  colors: { road, ...readable },
  autoContrast: true,
  respectReducedMotion: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Noto Sans Mono', monospace",
  headings: { fontWeight: '650' },
  components: {
    Alert: { defaultProps: { p: 'sm' } },
    // Badges are as wide as their words, also in narrow cells.
    Badge: { defaultProps: { variant: 'light', tt: 'none', miw: 'max-content' } },
    Card: { defaultProps: { withBorder: true } },
    Modal: { defaultProps: { closeButtonProps } },
    Drawer: { defaultProps: { closeButtonProps } },
    Notification: { defaultProps: { closeButtonProps } },
  },
});

const root = createRootRoute({
  notFoundComponent: NotFoundPage,
  errorComponent: FailedPage,
  // Links and the navigation keep the time range of the page.
  search: { middlewares: [retainSearchParams<{ range?: string }>(['range'])] },
});
const inside = createRoute({ getParentRoute: () => root, id: 'inside', component: Shell, errorComponent: FailedPage });
const outside = createRoute({ getParentRoute: () => root, id: 'outside', component: PublicShell });
const reading = createRoute({ getParentRoute: () => root, id: 'reading', component: ReadingShell });

/** The page to which a failed single sign-on returns. Leads signed-in users to the overview. */
const signIn = createRoute({
  getParentRoute: () => inside,
  path: '/sign-in',
  component: () => <Navigate to="/" replace />,
});

function makeConsoleRouter() {
  const pages = screens.map((screen) => pageRoute(inside, screen));
  const open = publicScreens.map((screen) => pageRoute(outside, screen));
  const read = readingScreens.map((screen) => pageRoute(reading, screen));
  return createRouter({
    routeTree: root.addChildren([
      inside.addChildren([...pages, signIn]),
      outside.addChildren(open),
      reading.addChildren(read),
    ]),
    basepath: '/console',
    defaultPreload: 'intent',
    scrollRestoration: true,
    trailingSlash: 'never',
    // Filters are plain query parameters, so that addresses are readable.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const text = new URLSearchParams(Object.entries(search).filter(([, value]) => value !== undefined)).toString();
      return text === '' ? '' : `?${text}`;
    },
  });
}

function pageRoute(
  parent: typeof inside | typeof outside | typeof reading,
  { path, load }: Pick<Screen, 'path' | 'load'>,
) {
  return createRoute({
    getParentRoute: () => parent,
    path,
    component: lazyRouteComponent(async () => ({ Page: await loadPage(load) }), 'Page'),
    errorComponent: FailedPage,
  });
}

/** Shows also what was notified before it has loaded. */
const Notifications = lazy(async () => ({ default: (await import('./parts/notifications.ts')).Notifications }));

const TRIES_MAX = 2;

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (failure, { queryKey }) => queryKey[0] !== 'me' && checkSession(failure) }),
  mutationCache: new MutationCache({ onError: checkSession }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Retries only temporary failures.
      retry: (count, failure) => count < TRIES_MAX && (!(failure instanceof ApiFailure) || failure.isTemporary),
    },
    mutations: { gcTime: 0 }, // discards form input, including passwords, when the form closes
  },
});
const router = makeConsoleRouter();
// The library that locks scrolling behind dialogs reads the style nonce from this global.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });

const place = document.getElementById('root');
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <Drawn />
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce}>
        <Suspense>
          <Notifications position="top-right" />
        </Suspense>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );

/** Removes the frame that index.html draws: what it shows already stays over the page until that has its own content, but not for long. */
function Drawn() {
  useLayoutEffect(() => {
    const early = document.querySelector('.early');
    const untilMs = performance.now() + COVERED_MS_MAX;
    if (early?.querySelector('h1')) early.classList.add('early-cover');
    early?.setAttribute('aria-hidden', 'true');
    const look = () => {
      const isCovered = early?.classList.contains('early-cover') && !isDrawn() && performance.now() < untilMs;
      if (isCovered) requestAnimationFrame(look);
      else early?.remove();
    };
    look();
  }, []);
  return null;
}

const COVERED_MS_MAX = 1_000;

function isDrawn(): boolean {
  const root = document.getElementById('root');
  return root?.querySelector('h1') != null && root.querySelector('[aria-busy="true"]') === null;
}

/** Leads to sign-in if the session has ended, or to the set-up of a second factor, instead of an error in each part of the page. */
function checkSession(failure: unknown): void {
  if (isSignInNeeded(failure)) void queries.invalidateQueries({ queryKey: ['me'] });
}

/** The Content-Security-Policy rejects style elements without this nonce. */
function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
}
