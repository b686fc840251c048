//! Textures and surfaces (PTX ISA, "Texture Instructions" and "Surface Instructions").

use super::{AtomicFunction, Predicate, Reg32, Reg64, Register};
use crate::texture::ImageKind;
use ptx_syntax::ast::Type;

/// An instruction on a texture or a surface.
#[derive(Clone, Debug)]
pub(crate) struct TextureOp {
    pub action: TextureAction,
    pub kind: ImageKind,
    /// The handle, or the address of a variable that holds it.
    pub handle: Reg64,
    /// In independent mode: that of the sampler.
    pub sampler: Option<Reg64>,
    /// The layer first where there are layers.
    pub coordinates: Vec<Reg32>,
    /// Whether the coordinates, without the layer, are f32.
    pub float_coordinates: bool,
    /// Added to the texels' indices.
    pub offsets: Vec<Reg32>,
    pub level: Level,
    /// What a store or a reduction takes.
    pub sources: Vec<Register>,
    pub destinations: Vec<Option<Register>>,
    /// Whether all texels are in memory; they are.
    pub resident: Option<Predicate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextureAction {
    /// `tex`.
    Fetch(TexelResult),
    /// `tld4`: one channel of the four texels that linear filtering would take.
    Gather(usize, TexelResult),
    /// `txq` and `suq`.
    Query(ImageQuery),
    /// `suld.b`: bytes of an element.
    Load(u32, Outside),
    /// `sust.b`.
    Store(u32, Outside),
    /// `sust.p`.
    StoreSample(Outside),
    /// `sured.b` by the type, or `sured.p` by that of the surface.
    Reduce(AtomicFunction, Option<Type>, Outside),
}

/// How a result is held in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TexelResult {
    Bits32,
    /// An f16 for each channel.
    Half,
    /// Two channels in each register.
    Halves,
}

/// The level of detail.
#[derive(Clone, Debug)]
pub(crate) enum Level {
    Base,
    /// An f32.
    Given(Reg32),
    /// An s32, with integer coordinates.
    Number(Reg32),
    /// How the coordinates change, in the directions x and y.
    Gradient([Vec<Reg32>; 2]),
}

/// What a surface access outside of the surface does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    Trap,
    Clamp,
    Zero,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageQuery {
    Width,
    Height,
    Depth,
    Layers,
    ChannelType,
    ChannelOrder,
    Normalized,
    Levels,
    Samples,
    ForcedUnnormalized,
    Filter,
    Addressing(usize),
    /// `memory_layout` of a surface: 0, that of linear memory.
    Layout,
}
