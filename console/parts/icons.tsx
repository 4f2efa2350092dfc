const PATHS = {
  overview: 'M3 3h7v9H3zM14 3h7v5h-7zM14 12h7v9h-7zM3 16h7v5H3z',
  usage: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  requests: 'M4 6h16M4 12h16M4 18h10',
  models: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.5',
  playground: 'M5 4l14 8-14 8z',
  keys: 'M14.5 9.5a4.5 4.5 0 1 0-3.2 4.3L14 16.5h2.5V19H19v-3l-5-5zM8.5 8.5h.01',
  plans: 'M4 7h16M4 12h16M4 17h16M8 5v4M15 10v4M10 15v4',
  budgets:
    'M12 3v18M16.5 7.5C16 6 14.5 5 12 5c-3 0-4.5 1.5-4.5 3.5 0 5 9 2 9 7 0 2-1.5 3.5-4.5 3.5s-4.5-1.5-5-3',
  projects: 'M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z',
  audit: 'M9 4h6v3H9zM8 5H6a1 1 0 0 0-1 1v14h14V6a1 1 0 0 0-1-1h-2M9 12h6M9 16h4',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c1-4 4-6 8-6s7 2 8 6',
  members:
    'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21c.7-4 3.3-6 7-6s6.3 2 7 6M16 3.5a4 4 0 0 1 0 7.2M18.5 15.5c2 .8 3 2.6 3.5 5.500',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM20 20l-5-5',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 13l4 4L19 7',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  close: 'M6 6l12 12M18 6L6 18',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5',
  alert: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  menu: 'M4 6h16M4 12h16M4 18h16',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);

export const Logo = () => (
  <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
    <rect width="24" height="24" rx="6" />
    <path d="M6 7h4l4 10h4M6 17h4M14 7h4" />
  </svg>
);
