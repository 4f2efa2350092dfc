import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { makeFunctionsSkippable } from '../../lib/bundle/skippable-functions.ts';

test.each([
  ['var f=(a,b)=>{return a+b};', 'var f=function(a,b){return a+b};'],
  ['var f=a=>{return a};', 'var f=function(a){return a};'],
  ['var f=async({a})=>{await a};', 'var f=async function({a}){await a};'],
  ['var f=async a=>{await a};', 'var f=async function(a){await a};'],
  ['var o={f:()=>{return()=>{g()}}};', 'var o={f:function(){return()=>{g()}}};'],
  ['h(()=>{g()},()=>{g()});', 'h(function(){g()},function(){g()});'],
  ['(()=>{g()})();', '(function(){g()})();'],
])(
  'the bundler writes an outermost arrow function with a block as a function: %s',
  (script, expected) => {
    expect(makeFunctionsSkippable(script)).toBe(expected);
  },
);

test.each([
  'var f=a=>a+1;',
  'function f(){return()=>{g()}}',
  'class A{f=()=>{return this.a}}',
  'var f=()=>{return()=>this};',
  'var f=()=>{return arguments};',
  'var s="()=>{}";',
])('the bundler does not rewrite a function that gains no time, or would change: %s', (script) => {
  expect(makeFunctionsSkippable(script)).toBe(script);
});

test('a script has the same results after the bundler rewrote its functions', () => {
  const script = 'var f=(a,{b=2}={})=>{return a*b},g=a=>{return f(a)+1};g(3)+f(1,{b:5})';
  const rewritten = makeFunctionsSkippable(script);
  expect(rewritten).not.toBe(script);
  expect(runInNewContext(rewritten)).toBe(runInNewContext(script));
});
