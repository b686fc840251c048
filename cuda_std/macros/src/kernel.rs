//! Expansion of `#[kernel]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, FnArg, Ident, ItemFn, MetaNameValue, Pat, ReturnType, Token, Type};

/// The launch bounds that an attribute may carry: attribute key, and the word that `cuda_builder`
/// reads in the PTX.
const BOUNDS: [(&str, &str); 3] = [
    ("max_threads", "maxntid"),
    ("min_blocks", "minnctapersm"),
    ("max_registers", "maxnreg"),
];

/// A launch bound: the word in the PTX, and its value.
pub type Bound = (&'static str, Expr);

pub fn expand(attr: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let bounds = parse_bounds(attr)?;
    let function: ItemFn = syn::parse2(item)?;
    check_signature(&function)?;

    let ItemFn {
        attrs,
        vis,
        sig,
        block,
    } = &function;
    let name = &sig.ident;
    let mut abi_params = Vec::new();
    let mut rebuild = Vec::new();
    for input in &sig.inputs {
        let (pat, ty) = parameter(input)?;
        let (params, statement) = lower_parameter(pat, ty);
        abi_params.extend(params);
        rebuild.extend(statement);
    }
    let statements = &block.stmts;
    let markers = markers(&bounds);
    let values = bounds.iter().map(|(_, value)| value);

    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #[unsafe(no_mangle)]
        #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
        #vis unsafe extern "ptx-kernel" fn #name(#(#abi_params),*) {
            #(#markers)*
            #(#rebuild)*
            #(#statements)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(clippy::too_many_arguments)]
        #vis #sig #block

        // The bounds type-check on the host as well, and what they name counts as used.
        #[cfg(not(target_arch = "nvptx64"))]
        const _: &[u32] = &[#(#values),*];
    })
}

/// What leaves the bounds in the PTX.
pub fn markers(bounds: &[Bound]) -> Vec<TokenStream> {
    let markers = bounds.iter().map(|(word, value)| {
        let marker = format_ident!("{word}");
        quote!(::cuda_std::launch_bounds::#marker::<{ #value }>();)
    });
    markers.collect()
}

fn parse_bounds(attr: TokenStream) -> syn::Result<Vec<Bound>> {
    let pairs = Punctuated::<MetaNameValue, Token![,]>::parse_terminated.parse2(attr)?;
    let known = BOUNDS.map(|(key, _)| key).join(", ");
    pairs
        .into_iter()
        .map(|pair| parse_bound(&pair.path, pair.value, &known))
        .collect()
}

/// The bound of this key; `known` are the keys that the attribute takes.
pub fn parse_bound(key: &impl quote::ToTokens, value: Expr, known: &str) -> syn::Result<Bound> {
    let name = key.to_token_stream().to_string();
    match BOUNDS.iter().find(|(known, _)| *known == name) {
        Some((_, word)) => Ok((*word, value)),
        None => refuse(
            key,
            &format!("unknown launch bound; #[kernel] takes {known}"),
        ),
    }
}

/// An error at these tokens.
pub fn refuse<T>(tokens: &impl quote::ToTokens, why: &str) -> syn::Result<T> {
    Err(syn::Error::new_spanned(tokens.to_token_stream(), why))
}

fn check_signature(function: &ItemFn) -> syn::Result<()> {
    let sig = &function.sig;
    if sig.unsafety.is_none() {
        return refuse(
            &sig.fn_token,
            "a kernel must be an `unsafe fn`: its threads share their arguments without checks",
        );
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        return refuse(
            ty,
            "a kernel returns nothing: write results through a pointer",
        );
    }
    if let Some(token) = &sig.asyncness {
        return refuse(token, "a kernel cannot be async");
    }
    if let Some(token) = &sig.constness {
        return refuse(token, "a kernel cannot be const");
    }
    if let Some(abi) = &sig.abi {
        return refuse(abi, "#[kernel] sets the ABI: write a plain `unsafe fn`");
    }
    if sig.generics.type_params().next().is_some() || sig.generics.const_params().next().is_some() {
        return refuse(
            &sig.generics,
            "a kernel cannot be generic: its name is its PTX entry. Make the body a generic \
             #[inline(always)] function and call it from one kernel per instance",
        );
    }
    Ok(())
}

/// A parameter's name and type.
pub fn parameter(input: &FnArg) -> syn::Result<(&Ident, &Type)> {
    match input {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
                Ok((&pat.ident, &typed.ty))
            }
            pat => Err(syn::Error::new_spanned(
                pat,
                "a kernel parameter must be a plain name",
            )),
        },
        FnArg::Receiver(receiver) => Err(syn::Error::new_spanned(
            receiver,
            "a kernel cannot be a method",
        )),
    }
}

/// The parameters of the PTX entry for one written parameter, and the statement that rebuilds it.
fn lower_parameter(name: &Ident, ty: &Type) -> (Vec<TokenStream>, Option<TokenStream>) {
    if let Type::Reference(reference) = ty
        && let Type::Slice(slice) = &*reference.elem
    {
        let element = &slice.elem;
        let ptr = format_ident!("{name}_ptr");
        let len = format_ident!("{name}_len");
        let (ptr_type, slice_type, from_raw) = if reference.mutability.is_some() {
            (
                // Not `&mut`: every thread of the grid holds this pointer, so it must not be
                // `noalias`.
                quote!(*mut #element),
                quote!(&mut [#element]),
                quote!(::core::slice::from_raw_parts_mut(#ptr, #len)),
            )
        } else {
            (
                // A reference, so that LLVM sees `noalias readonly` and may use `ld.global.nc`.
                quote!(&#element),
                quote!(&[#element]),
                quote!(::core::slice::from_raw_parts(::core::ptr::from_ref(#ptr), #len)),
            )
        };
        return (
            vec![quote!(#ptr: #ptr_type), quote!(#len: usize)],
            Some(quote! {
                // SAFETY: the launch passes the pointer and the length of one device allocation.
                let #name: #slice_type = unsafe { #from_raw };
            }),
        );
    }
    (vec![quote!(#name: #ty)], None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature of the PTX entry that a kernel expands to, white space folded.
    fn entry(item: TokenStream) -> String {
        let expanded = expand(TokenStream::new(), item).unwrap();
        let file: syn::File = syn::parse2(expanded).unwrap();
        let syn::Item::Fn(function) = &file.items[0] else {
            panic!("the first item is the entry");
        };
        let sig = &function.sig;
        quote!(#sig).to_string()
    }

    fn refusal(attr: TokenStream, item: TokenStream) -> String {
        expand(attr, item).unwrap_err().to_string()
    }

    #[test]
    fn slices_become_pointer_and_length() {
        assert_eq!(
            entry(quote!(
                unsafe fn f(a: &[f32], b: &mut [u8], c: *mut f64, n: u32, d: &Params) {}
            )),
            quote!(unsafe extern "ptx-kernel" fn f(
                a_ptr: &f32, a_len: usize, b_ptr: *mut u8, b_len: usize, c: *mut f64, n: u32,
                d: &Params
            ))
            .to_string()
        );
    }

    #[test]
    fn on_the_host_the_function_stays_as_written() {
        let item = quote!(
            pub unsafe fn f(a: &[f32]) {
                let _ = a;
            }
        );
        let expanded = expand(TokenStream::new(), item.clone()).unwrap();
        let file: syn::File = syn::parse2(expanded).unwrap();
        let syn::Item::Fn(mut function) = file.items[1].clone() else {
            panic!("the second item is the host function");
        };
        function.attrs.clear();
        assert_eq!(quote!(#function).to_string(), item.to_string());
    }

    #[test]
    fn launch_bounds_become_markers() {
        let expanded = expand(
            quote!(max_threads = 16 * 16, min_blocks = 2, max_registers = 64),
            quote!(
                unsafe fn f() {}
            ),
        )
        .unwrap()
        .to_string();
        for marker in [
            quote!(::cuda_std::launch_bounds::maxntid::<{ 16 * 16 }>()),
            quote!(::cuda_std::launch_bounds::minnctapersm::<{ 2 }>()),
            quote!(::cuda_std::launch_bounds::maxnreg::<{ 64 }>()),
        ] {
            assert!(expanded.contains(&marker.to_string()), "{expanded}");
        }
    }

    #[test]
    fn what_cannot_be_a_kernel_is_refused_with_a_reason() {
        let none = TokenStream::new;
        for (item, reason) in [
            (
                quote!(
                    fn f() {}
                ),
                "unsafe fn",
            ),
            (
                quote!(
                    unsafe fn f() -> u32 {
                        0
                    }
                ),
                "returns nothing",
            ),
            (
                quote!(
                    async unsafe fn f() {}
                ),
                "async",
            ),
            (
                quote!(
                    const unsafe fn f() {}
                ),
                "const",
            ),
            (
                quote!(
                    unsafe extern "C" fn f() {}
                ),
                "ABI",
            ),
            (
                quote!(
                    unsafe fn f<T>(a: *mut T) {}
                ),
                "generic",
            ),
            (
                quote!(
                    unsafe fn f<const N: usize>() {}
                ),
                "generic",
            ),
            (
                quote!(
                    unsafe fn f((a, b): (u32, u32)) {}
                ),
                "plain name",
            ),
            (
                quote!(
                    unsafe fn f(&self) {}
                ),
                "method",
            ),
        ] {
            let message = refusal(none(), item);
            assert!(message.contains(reason), "{message}");
        }
        let message = refusal(
            quote!(max_thread = 1),
            quote!(
                unsafe fn f() {}
            ),
        );
        assert!(
            message.contains("max_threads, min_blocks, max_registers"),
            "{message}"
        );
    }
}
