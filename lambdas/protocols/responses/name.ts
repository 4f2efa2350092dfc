/** The name of this folder's protocol. */
export const NAME = 'responses';
