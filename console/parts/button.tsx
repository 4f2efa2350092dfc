import type { ComponentProps } from 'preact';

type ButtonProps = Omit<ComponentProps<'button'>, 'class' | 'size'> & { look?: string };

export const Button = ({ look = '', ...props }: ButtonProps) => (
  <button type="button" class={`button ${look}`.trim()} {...props} />
);
