// How the console looks: one accent, the system's own fonts, a little more contrast than the library's.

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

/** The library's own, but darker where words of it, or white words on it, would be too faint to be read. */
const readable = {
  teal: [...teal.slice(0, 9), '#066649'] as unknown as MantineColorsTuple,
  red: [...red.slice(0, 7), '#cf2d2d', '#bd2727', '#a92222'] as unknown as MantineColorsTuple,
  yellow: [...yellow.slice(0, 9), '#8a4a00'] as unknown as MantineColorsTuple,
  orange: [...orange.slice(0, 9), '#a03508'] as unknown as MantineColorsTuple,
};

export const theme = createTheme({
  primaryColor: 'road',
  primaryShade: 7, // white words on anything brighter are too faint, in the dark, too
  colors: { road, ...readable },
  autoContrast: true,
  respectReducedMotion: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Noto Sans Mono', monospace",
  headings: { fontWeight: '650' },
});
