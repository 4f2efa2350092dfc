/** The bundler writes imported styles to a file next to the script. */
declare module '*.css';
