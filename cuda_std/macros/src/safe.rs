//! Expansion of `#[safe::kernel]`.

use crate::kernel::{Bound, markers, parameter, parse_bound, refuse};
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Expr, FnArg, GenericArgument, GenericParam, ItemFn, Token, Type, parenthesized,
};

/// What stands in the attribute.
#[derive(Default)]
struct Options {
    bounds: Vec<Bound>,
    instances: Vec<Instance>,
}

/// A PTX entry: its name, and what stands for the generic parameters.
struct Instance {
    name: Ident,
    arguments: Vec<GenericArgument>,
}

/// A parameter as it is written.
struct Parameter<'a> {
    ty: &'a Type,
    is_shared: bool,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Options::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            if key == "instances" {
                let list;
                parenthesized!(list in input);
                let list = Punctuated::<Instance, Token![,]>::parse_terminated(&list)?;
                options.instances.extend(list);
            } else if key == "max_threads" {
                return Err(syn::Error::new_spanned(
                    key,
                    "the type of the block says how many threads there are",
                ));
            } else {
                input.parse::<Token![=]>()?;
                let value: Expr = input.parse()?;
                let bound = parse_bound(&key, value, "min_blocks, max_registers, instances")?;
                options.bounds.push(bound);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl Parse for Instance {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![=]>()?;
        let arguments: syn::AngleBracketedGenericArguments = input.parse()?;
        Ok(Instance {
            name,
            arguments: arguments.args.into_iter().collect(),
        })
    }
}

pub fn expand(attr: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let mut options: Options = syn::parse2(attr)?;
    let mut function: ItemFn = syn::parse2(item)?;
    check_signature(&function)?;
    let shared = take_shared(&mut function)?;
    let names = generic_names(&function)?;
    if names.is_empty() {
        if let Some(instance) = options.instances.first() {
            return refuse(
                &instance.name,
                "a kernel that is not generic has no instances",
            );
        }
        options.instances.push(Instance {
            name: function.sig.ident.clone(),
            arguments: Vec::new(),
        });
    } else if options.instances.is_empty() {
        return refuse(
            &function.sig.generics,
            "a generic kernel lists its instances: #[kernel(instances(scale_f32 = <f32>))]",
        );
    }
    let inputs = function.sig.inputs.iter().zip(shared);
    let parameters = inputs
        .map(|(input, is_shared)| {
            let (_, ty) = parameter(input)?;
            Ok(Parameter { ty, is_shared })
        })
        .collect::<syn::Result<Vec<_>>>()?;
    let Some((block, parameters)) = parameters
        .split_first()
        .filter(|(block, _)| !block.is_shared)
    else {
        return refuse(
            &function.sig.ident,
            "the first parameter of a kernel is its block: `block: Block<256>`",
        );
    };

    let host_type = host_type(&function, &names);
    let instances = options
        .instances
        .iter()
        .map(|instance| {
            if instance.arguments.len() != names.len() {
                let message = format!(
                    "{} generic arguments for {} parameters",
                    instance.arguments.len(),
                    names.len()
                );
                return refuse(&instance.name, &message);
            }
            let entry = entry(
                &function,
                instance,
                &names,
                block,
                parameters,
                &options.bounds,
            );
            let launch = launch(&function, instance, &names, block, parameters);
            Ok(quote!(#entry #launch))
        })
        .collect::<syn::Result<Vec<_>>>()?;
    let values = options.bounds.iter().map(|(_, value)| value);
    Ok(quote! {
        #[allow(dead_code, clippy::too_many_arguments)]
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        #function
        #host_type
        #(#instances)*

        // The bounds type-check on the host as well, and what they name counts as used.
        #[cfg(not(target_arch = "nvptx64"))]
        const _: &[u32] = &[#(#values),*];
    })
}

fn check_signature(function: &ItemFn) -> syn::Result<()> {
    let sig = &function.sig;
    if let Some(token) = &sig.unsafety {
        return refuse(
            token,
            "a safe kernel is no `unsafe fn`: cuda_std::kernel makes those",
        );
    }
    if let syn::ReturnType::Type(_, ty) = &sig.output {
        return refuse(
            ty,
            "a kernel returns nothing: write results to a VectorMut or MatrixMut",
        );
    }
    if let Some(token) = &sig.asyncness {
        return refuse(token, "a kernel cannot be async");
    }
    if let Some(token) = &sig.constness {
        return refuse(token, "a kernel cannot be const");
    }
    if let Some(abi) = &sig.abi {
        return refuse(abi, "#[kernel] sets the ABI: write a plain `fn`");
    }
    Ok(())
}

/// Removes the attribute `#[shared]` from the parameters, and says which had it.
fn take_shared(function: &mut ItemFn) -> syn::Result<Vec<bool>> {
    let is_shared = |attribute: &Attribute| attribute.path().is_ident("shared");
    let inputs = function.sig.inputs.iter_mut();
    inputs
        .map(|input| match input {
            FnArg::Typed(typed) => {
                let before = typed.attrs.len();
                typed.attrs.retain(|attribute| !is_shared(attribute));
                Ok(typed.attrs.len() < before)
            }
            FnArg::Receiver(receiver) => refuse(receiver, "a kernel cannot be a method"),
        })
        .collect()
}

/// The names of the generic parameters, in order.
fn generic_names(function: &ItemFn) -> syn::Result<Vec<&Ident>> {
    let parameters = function.sig.generics.params.iter();
    parameters
        .map(|parameter| match parameter {
            GenericParam::Type(parameter) => Ok(&parameter.ident),
            GenericParam::Const(parameter) => Ok(&parameter.ident),
            GenericParam::Lifetime(parameter) => refuse(
                parameter,
                "arrays of a kernel have no lifetime: they outlive the launch",
            ),
        })
        .collect()
}

/// The type that names the kernel on the host.
fn host_type(function: &ItemFn, names: &[&Ident]) -> TokenStream {
    let ItemFn { vis, sig, .. } = function;
    let name = &sig.ident;
    let parameters = sig.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Const(parameter) => {
            let (name, ty) = (&parameter.ident, &parameter.ty);
            quote!(const #name: #ty)
        }
        GenericParam::Type(parameter) => {
            let name = &parameter.ident;
            quote!(#name)
        }
        GenericParam::Lifetime(_) => TokenStream::new(),
    });
    let generics = (!names.is_empty()).then(|| quote!(<#(#parameters),*>));
    let types = sig.generics.type_params().map(|parameter| &parameter.ident);
    let doc = format!("The kernel [`{name}`](fn@{name}) for a launch by the host.");
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #doc]
        #[allow(non_camel_case_types, dead_code)]
        #vis struct #name #generics {
            never: ::core::marker::PhantomData<fn() -> (#(#types,)*)>,
        }
    }
}

/// The PTX entry of an instance.
fn entry(
    function: &ItemFn,
    instance: &Instance,
    names: &[&Ident],
    block: &Parameter<'_>,
    parameters: &[Parameter<'_>],
    bounds: &[Bound],
) -> TokenStream {
    let concrete = |ty: &Type| replace(quote!(#ty), names, &instance.arguments);
    let (kernel, arguments) = (&function.sig.ident, &instance.arguments);
    let name = instance.name.to_string();
    let block = concrete(block.ty);
    let markers = markers(bounds);
    let (mut takes, mut gives) = (Vec::new(), Vec::new());
    for (index, Parameter { ty, is_shared }) in parameters.iter().enumerate() {
        let ty = concrete(ty);
        if *is_shared {
            gives.push(quote!(<#ty>::of_entry()));
            continue;
        }
        let words = ["First", "Second", "Third"].map(|word| format_ident!("{word}"));
        let passed = [0, 1, 2].map(|word| format_ident!("p{index}_{word}"));
        takes.push(quote!(#(#passed: <#ty as ::cuda_std::safe::Parameter>::#words),*));
        gives.push(quote! {
            <#ty as ::cuda_std::safe::Parameter>::from_entry(#(#passed),*)
        });
    }
    quote! {
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            #[unsafe(export_name = #name)]
            #[allow(unsafe_code, improper_ctypes_definitions, clippy::too_many_arguments)]
            unsafe extern "ptx-kernel" fn entry(#(#takes),*) {
                ::cuda_std::launch_bounds::maxntid::<{ <#block>::THREADS }>();
                #(#markers)*
                // SAFETY: `TypedKernel` launches this entry, with blocks of this shape and
                // arguments that it has checked; each shared tile is made here alone.
                unsafe { #kernel::<#(#arguments),*>(<#block>::of_entry(), #(#gives),*) }
            }
        };
    }
}

/// What the host launches an instance by.
fn launch(
    function: &ItemFn,
    instance: &Instance,
    names: &[&Ident],
    block: &Parameter<'_>,
    parameters: &[Parameter<'_>],
) -> TokenStream {
    let concrete = |ty: &Type| replace(quote!(#ty), names, &instance.arguments);
    let (kernel, arguments) = (&function.sig.ident, &instance.arguments);
    let name = instance.name.to_string();
    let block = concrete(block.ty);
    let passed = parameters.iter().filter(|parameter| !parameter.is_shared);
    let passed = passed.map(|parameter| concrete(parameter.ty));
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the entry of this name is made of the same signature, for the GPU target.
        #[allow(unsafe_code)]
        unsafe impl ::cuda_std::safe::Entry for #kernel<#(#arguments),*> {
            const NAME: &'static str = #name;
            const PACKAGE: &'static str = env!("CARGO_PKG_NAME");
            type Block = #block;
            type Parameters = (#(#passed,)*);
        }
    }
}

/// `tokens` with the arguments in place of the generic parameters of these names. What stands
/// behind `::` is no parameter but an item of that name.
fn replace(tokens: TokenStream, names: &[&Ident], arguments: &[GenericArgument]) -> TokenStream {
    let mut colons = 0;
    let replaced = tokens.into_iter().map(|token| {
        let is_path = colons == 2;
        colons = match &token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons + 1,
            _ => 0,
        };
        match token {
            TokenTree::Ident(ident) if !is_path => {
                match names.iter().position(|name| **name == ident) {
                    Some(index) => {
                        let argument = &arguments[index];
                        quote!(#argument)
                    }
                    None => quote!(#ident),
                }
            }
            TokenTree::Group(group) => {
                let inner = replace(group.stream(), names, arguments);
                let mut replaced = Group::new(group.delimiter(), inner);
                replaced.set_span(group.span());
                TokenTree::Group(replaced).into()
            }
            token => token.into(),
        }
    });
    replaced.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(attr: TokenStream, item: TokenStream) -> String {
        expand(attr, item).err().unwrap().to_string()
    }

    #[test]
    fn an_entry_has_three_parameters_for_each_that_is_passed() {
        let expanded = expand(
            TokenStream::new(),
            quote!(
                fn f(block: Block<8>, a: Vector<f32, N>, #[shared] tile: SharedTile<f32, 1, 8>) {}
            ),
        );
        let text = expanded.unwrap().to_string();
        let passed = quote!(fn entry(
            p0_0: <Vector<f32, N> as ::cuda_std::safe::Parameter>::First,
            p0_1: <Vector<f32, N> as ::cuda_std::safe::Parameter>::Second,
            p0_2: <Vector<f32, N> as ::cuda_std::safe::Parameter>::Third
        ));
        assert!(text.contains(&passed.to_string()), "{text}");
        let made = quote!(<SharedTile<f32, 1, 8>>::of_entry()).to_string();
        assert!(
            text.replace("> >", ">>")
                .contains(&made.replace("> >", ">>")),
            "{text}"
        );
    }

    #[test]
    fn instances_stand_for_generic_parameters() {
        let expanded = expand(
            quote!(instances(scale_f32 = <f32, 4>)),
            quote!(
                fn scale<T: Element, const M: usize>(b: Block<8>, x: VectorMut<T, other::M, M>) {}
            ),
        );
        let text = expanded.unwrap().to_string();
        let launched = quote!(
            type Parameters = (VectorMut<f32, other::M, 4>,);
        );
        assert!(text.contains(&launched.to_string()), "{text}");
        assert!(
            text.contains(&quote!(Entry for scale<f32, 4>).to_string()),
            "{text}"
        );
        assert!(text.contains("export_name = \"scale_f32\""), "{text}");
    }

    #[test]
    fn what_cannot_be_a_safe_kernel_is_refused_with_a_reason() {
        let none = TokenStream::new;
        for (attr, item, reason) in [
            (
                none(),
                quote!(
                    unsafe fn f(b: Block<8>) {}
                ),
                "cuda_std::kernel",
            ),
            (
                none(),
                quote!(
                    fn f(b: Block<8>) -> u32 {
                        0
                    }
                ),
                "returns nothing",
            ),
            (
                none(),
                quote!(
                    async fn f(b: Block<8>) {}
                ),
                "async",
            ),
            (
                none(),
                quote!(
                    const fn f(b: Block<8>) {}
                ),
                "const",
            ),
            (
                none(),
                quote!(
                    extern "C" fn f(b: Block<8>) {}
                ),
                "ABI",
            ),
            (
                none(),
                quote!(
                    fn f(&self, b: Block<8>) {}
                ),
                "method",
            ),
            (
                none(),
                quote!(
                    fn f() {}
                ),
                "its block",
            ),
            (
                none(),
                quote!(
                    fn f(#[shared] b: Block<8>) {}
                ),
                "its block",
            ),
            (
                none(),
                quote!(
                    fn f(b: Block<8>, (x, y): (u32, u32)) {}
                ),
                "plain name",
            ),
            (
                none(),
                quote!(
                    fn f<'a>(b: Block<8>, x: &'a u32) {}
                ),
                "lifetime",
            ),
            (
                none(),
                quote!(
                    fn f<T>(b: Block<8>, x: T) {}
                ),
                "instances(scale_f32 = <f32>)",
            ),
            (
                quote!(instances(g = <f32>)),
                quote!(
                    fn f(b: Block<8>) {}
                ),
                "not generic",
            ),
            (
                quote!(instances(g = <f32, f64>)),
                quote!(
                    fn f<T>(b: Block<8>, x: T) {}
                ),
                "2 generic arguments for 1 parameters",
            ),
            (
                quote!(max_threads = 8),
                quote!(
                    fn f(b: Block<8>) {}
                ),
                "type of the block",
            ),
            (
                quote!(max_thread = 8),
                quote!(
                    fn f(b: Block<8>) {}
                ),
                "min_blocks, max_registers",
            ),
        ] {
            let message = refusal(attr, item);
            assert!(message.contains(reason), "{message}");
        }
    }
}
