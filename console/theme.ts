// How the console looks: one accent, the system's own fonts, a little more contrast than the library's.

import { createTheme, type MantineColorsTuple } from '@mantine/core';

const teal: MantineColorsTuple = [
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

export const theme = createTheme({
  primaryColor: 'road',
  primaryShade: { light: 7, dark: 6 },
  colors: { road: teal },
  autoContrast: true,
  respectReducedMotion: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Noto Sans Mono', monospace",
  headings: { fontWeight: '650' },
});
