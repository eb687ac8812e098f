// Colors, fonts and defaults of the component library.

import { createTheme, DEFAULT_THEME, type MantineColorsTuple } from '@mantine/core';

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

export const theme = createTheme({
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
